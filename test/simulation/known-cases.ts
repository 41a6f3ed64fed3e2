import { lastValueFrom, type Observable, toArray } from "rxjs";
import { type CandleEvent, fetchCandles, watchCandles } from "../../src/index.js";
import { answered, type Interference, MINUTES, World } from "../world.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const OCTOBER = Date.UTC(2026, 9, 1);

/** A program as a user writes it; gives what is wrong with what it sees, nothing where all is well. */
export type Case = () => Promise<string | undefined>;

/** Runs a clock until a stream of candles has completed. */
async function candlesOf<T>(world: World, stream: Observable<T>): Promise<T[]> {
  const done = lastValueFrom(stream.pipe(toArray()));
  await world.clock.advanceBy(10 * MINUTE);
  return done;
}

/** One client reads an hour of a pair, then one of thirty days later, then watches with the last five candles. */
async function rangesFarApart(): Promise<{ readonly second: number; readonly watch: number }> {
  const world = new World({ start: OCTOBER + 40 * DAY, hasDate: true, createdAt: OCTOBER - DAY });
  world.swapsEvery(MINUTE, OCTOBER, OCTOBER + 41 * DAY);
  const hour = (from: number) =>
    candlesOf(world, fetchCandles(world.client, { ...MINUTES, from, to: from + HOUR }));
  await hour(OCTOBER);
  const first = world.asked.length;
  await hour(OCTOBER + 30 * DAY);
  const second = world.asked.length;
  const watch = watchCandles(world.client, { ...MINUTES, since: { candles: 5 } }).subscribe();
  await world.clock.advanceBy(20_000);
  watch.unsubscribe();
  return { second: second - first, watch: world.asked.length - second };
}

export const readsFarApart: Case = async () => {
  const { second } = await rangesFarApart();
  return second > 4 ? `${second} requests for 60 candles` : undefined;
};

export const watchFarFromARead: Case = async () => {
  const { watch } = await rangesFarApart();
  return watch > 4 ? `${watch} requests for the last five candles` : undefined;
};

/** The events of a minute of a stream, while the answers are what `interfere` makes of them. */
async function eventsOf(
  { timeframe, every }: { timeframe: "1s" | "10s"; every: number },
  interfere: (world: World) => Interference,
): Promise<CandleEvent[]> {
  const start = OCTOBER + 250;
  const world = new World({ start, hasDate: true, createdAt: OCTOBER - DAY });
  world.swapsEvery(1_000, OCTOBER - 5 * MINUTE, OCTOBER + 5 * MINUTE);
  const events: CandleEvent[] = [];
  const watch = watchCandles(world.client, { ...MINUTES, timeframe, every, revisionWindow: 5 }).subscribe(
    (event) => events.push(event),
  );
  await world.clock.advanceBy(30_000);
  world.interfere = interfere(world);
  await world.clock.advanceBy(45_000);
  watch.unsubscribe();
  return events;
}

/** Of what is told as removed, how many candles the service has at the end. */
function removedIn(events: readonly CandleEvent[]): string | undefined {
  const removed = events.filter(({ type }) => type === "removed");
  return removed.length > 0
    ? `${removed.length} candles are told as removed, and the service has them`
    : undefined;
}

/** A cache gives one answer for 20 s, and says how old it is; that answer lacks two candles. */
export const copiesOfOneAnswer: Case = async () =>
  removedIn(
    await eventsOf({ timeframe: "10s", every: 2_000 }, (world) => {
      let kept: { at: number; body: string; date: string | null } | undefined;
      return async (_asked, answer) => {
        const now = world.clock.now();
        if (kept === undefined || now - kept.at > 20_000) {
          const { headers, text } = await answer();
          const page = JSON.parse(await text()) as { result: { timestamp: string }[] };
          const newest = page.result
            .map(({ timestamp }) => timestamp)
            .sort()
            .at(-1)!;
          const isKept = ({ timestamp }: { timestamp: string }) =>
            kept !== undefined || Date.parse(timestamp) < Date.parse(newest) - 20_000 || timestamp === newest;
          kept = {
            at: now,
            body: JSON.stringify({ ...page, result: page.result.filter(isKept) }),
            date: headers.get("date"),
          };
        }
        return answered(200, kept.body, {
          ...(kept.date === null ? {} : { date: kept.date }),
          age: String(Math.floor((now - kept.at) / 1_000)),
        });
      };
    }),
  );

/** Of two replicas that answer by turns, two answers each, one is four seconds behind. */
export const laggingReplica: Case = async () =>
  removedIn(
    await eventsOf({ timeframe: "1s", every: 1_000 }, (world) => {
      let turn = 0;
      return async (_asked, answer) => {
        turn += 1;
        if (turn % 4 < 2) return answer();
        const dated = (await answer()).headers;
        world.offset -= 4_000;
        try {
          const { status, text } = await answer();
          return { status, headers: dated, text };
        } finally {
          world.offset += 4_000;
        }
      };
    }),
  );

/** The oldest rows of a history are missing from its first answer, which has no cursor. */
export const cutHistory: Case = async () => {
  const start = OCTOBER + DAY;
  const world = new World({ start, hasDate: true, createdAt: OCTOBER - DAY });
  world.swapsEvery(MINUTE, start - 8 * HOUR, start);
  let isCut = false;
  world.interfere = async (asked, answer) => {
    if (isCut || !asked.url.pathname.endsWith("/ohlcv")) return answer();
    isCut = true;
    const { status, headers, text } = await answer();
    const page = JSON.parse(await text()) as { result: unknown[] };
    const body = JSON.stringify({ ...page, cursor: null, result: page.result.slice(0, 199) });
    return { status, headers, text: async () => body };
  };
  const candles = await candlesOf(
    world,
    fetchCandles(world.client, { ...MINUTES, from: start - 8 * HOUR, to: start }),
  );
  return candles.length < 480 ? `a history completes with ${candles.length} of 480 candles` : undefined;
};
