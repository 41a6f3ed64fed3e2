import fc from "fast-check";
import { NEVER } from "rxjs";
import { describe, expect, it } from "vitest";
import { type CollectingMeans, collectFeed } from "../../../src/adapters/nats/collected-feed.js";
import { Lanes } from "../../../src/adapters/nats/lanes.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { candleSubjects } from "../../../src/adapters/nats/subjects.js";
import { VirtualClock } from "../../../src/index.js";
import { NAME } from "../../simulation/nats/plan.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { StoredWatch } from "../../simulation/nats/stored.js";
import { clientOf, MINUTE, MINUTES, NOON } from "./minute-service.js";

const BEGUN = NOON + 10_000;
const ENDS = NOON + 8 * MINUTE;
const FEED = candleSubjects(NAME, MINUTES);
const WATCH = { ...MINUTES, every: 30_000, settle: 1_000, revisionWindow: 2, since: { candles: 5 } };
const SETTINGS = { name: NAME, replicas: undefined, retention: undefined };

/** What happens with the messages to the servers, by their number. */
interface Points {
  readonly how: "deleted" | "purged";
  /** The stream goes away before these messages come. */
  readonly lostAt: readonly number[];
  /** The first holder hears nothing more from this message of anybody on, and dies with that one. */
  readonly deafFrom?: number;
  readonly diesAt?: number;
  /** So long after the first holder has died the next one begins, in ms. */
  readonly pause?: number;
}

/** What is wrong where one collector holds a series, and maybe a next one. */
async function wrongsOf({ how, lostAt, deafFrom = Number.POSITIVE_INFINITY, diesAt, pause = 1_000 }: Points) {
  await natsLibrary();
  const clock = new VirtualClock(BEGUN);
  const servers = new Servers(clock);
  const kept = () => servers.jetstream.streams.get(NAME)?.messages;
  const watch = new StoredWatch(() => clock.now(), kept);
  servers.noteStored = watch.noteStored;
  const made = { name: NAME, subjects: [FEED.subjects], max_msgs_per_subject: 1 };
  servers.take({ subject: `$JS.API.STREAM.CREATE.${NAME}`, text: JSON.stringify(made) });
  const wrongs: string[] = [];
  const appearances = new Map(Array.from({ length: 30 }, (_, at) => [at - 15, NOON + (at - 15) * MINUTE]));
  let count = 0;

  const begin = async (epoch: number) => {
    const wire = {
      up: (arrive: () => void) => void clock.schedule(arrive, 5),
      down: (arrive: () => void) => {
        if (epoch > 1 || count < deafFrom) clock.schedule(arrive, 5);
      },
    };
    const connection = new ModelConnection(servers, wire, clock, epoch);
    const store = await Store.open(connection.asConnection);
    const ensureStream = () => store.ensureStream(FEED, { ...SETTINGS, scheduler: clock });
    const fail = (error: unknown) => wrongs.push(String(error));
    const means: CollectingMeans = {
      ...{ store, scheduler: clock, client: clientOf(clock, appearances), publisher: `holder${epoch}` },
      ...{ lanes: new Lanes(256), readers: new Lanes(32), resumed: NEVER, retention: 0, ensureStream },
      ...{ mayPublish: () => true, tell: () => {}, fail, outranked: () => {} },
    };
    const working = collectFeed(FEED, WATCH, means, epoch).subscribe({ error: fail });
    return () => {
      working.unsubscribe();
      connection.drop();
    };
  };

  let die = () => {};
  const take = servers.take.bind(servers);
  servers.take = (packet) => {
    count += 1;
    if (lostAt.includes(count)) {
      if (how === "deleted") servers.jetstream.drop(NAME);
      else servers.jetstream.streams.get(NAME)?.purge();
    }
    take(packet);
    if (count !== diesAt) return;
    die();
    clock.schedule(() => void begin(2), pause);
  };
  void begin(1).then((end) => {
    die = end;
  });
  await clock.advanceTo(ENDS);
  wrongs.push(...watch.uncovered.map(({ what }) => what), ...watch.unfenced.map(({ what }) => what));
  const status = JSON.parse(kept()?.last(`${FEED.key}.status`)?.text ?? "{}").status ?? {};
  const { state, coveredFrom, coveredUntil } = status;
  if (state !== "live" || !(coveredFrom < coveredUntil) || !(coveredUntil >= ENDS - MINUTE)) {
    wrongs.push(`the status is ${JSON.stringify(status)}`);
  }
  for (const [minute] of appearances) {
    const at = NOON + minute * MINUTE;
    if (!(coveredFrom <= at && at < coveredUntil - 3 * MINUTE)) continue;
    const text = kept()?.last(`${FEED.key}.${at}`)?.text;
    if (text === undefined || JSON.parse(text).status !== "final")
      wrongs.push(`minute ${minute} holds ${text}`);
  }
  return wrongs;
}

const HOWS = ["deleted", "purged"] as const;
/** The messages of the first minutes: the takeover of an empty feed, its history, and two closings. */
const NUMBERS = Array.from({ length: 30 }, (_, at) => at + 1);

describe.each(HOWS)("where the stream is %s, nothing is covered that is not stored,", (how) => {
  it.each(NUMBERS)("before message %i, under one collector", async (number) => {
    expect(await wrongsOf({ how, lostAt: [number] })).toEqual([]);
  });
});

it("nothing is covered that is not stored, wherever messages go away, and holders hear nothing and die", async () => {
  const number = fc.integer({ min: 1, max: NUMBERS.length });
  const few = fc.integer({ min: 0, max: 15 });
  const point = fc.record({
    how: fc.constantFrom(...HOWS),
    number,
    again: fc.option(few),
    deaf: fc.option(few),
    dies: fc.integer({ min: -12, max: 15 }),
    pause: fc.constantFrom(0, 20, 1_000),
  });
  await fc.assert(
    fc.asyncProperty(point, async ({ how, number, again, deaf, dies, pause }) => {
      const diesAt = Math.max(1, number + dies);
      const lostAt = again === null ? [number] : [number, number + again];
      const points = { how, lostAt, diesAt, pause, ...(deaf === null ? {} : { deafFrom: diesAt - deaf }) };
      expect(await wrongsOf(points)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
