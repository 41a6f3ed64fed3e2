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
const FEED = candleSubjects(NAME, MINUTES);
const WATCH = { ...MINUTES, every: 30_000, settle: 1_000, revisionWindow: 2, since: { candles: 5 } };

/** What happens with the messages to the servers, by their number. */
interface Points {
  readonly how?: "deleted" | "purged";
  /** The stream goes away before these messages come. */
  readonly lostAt?: readonly number[];
  /** The first holder hears nothing more from this message of anybody on, and dies with that one. */
  readonly deafFrom?: number;
  readonly diesAt?: number | undefined;
  /** So long after the first holder has died the next one begins, in ms. */
  readonly pause?: number;
  /** How long messages are kept, in ms; 0 means forever. */
  readonly retention?: number;
  /** The service has no answer from message `from` on, for `lasts` ms. */
  readonly down?: { readonly from: number; readonly lasts: number } | undefined;
}

/** What is wrong where one collector holds a series, and maybe a next one. */
async function wrongsOf(points: Points) {
  const { how, lostAt = [], deafFrom = Number.POSITIVE_INFINITY, diesAt, pause = 1_000 } = points;
  const { retention = 0, down } = points;
  await natsLibrary();
  const clock = new VirtualClock(BEGUN);
  const away = pause + (down?.lasts ?? 0);
  const ends = NOON + (8 + Math.floor(away / MINUTE)) * MINUTE;
  let answersFrom = BEGUN;
  const servers = new Servers(clock);
  const kept = () => servers.jetstream.streams.get(NAME)?.messages;
  const watch = new StoredWatch(() => clock.now(), kept);
  servers.noteStored = watch.noteStored;
  const settings = { name: NAME, replicas: undefined, retention: retention === 0 ? undefined : retention };
  const made = {
    ...{ name: NAME, subjects: [FEED.subjects] },
    ...{ max_msgs_per_subject: 1, max_age: retention * 1e6 },
  };
  servers.take({ subject: `$JS.API.STREAM.CREATE.${NAME}`, text: JSON.stringify(made) });
  const wrongs: string[] = [];
  const appearances = new Map(Array.from({ length: 50 }, (_, at) => [at - 15, NOON + (at - 15) * MINUTE]));
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
    const ensureStream = () => store.ensureStream(FEED, { ...settings, scheduler: clock });
    const fail = (error: unknown) => wrongs.push(String(error));
    const client = clientOf(clock, appearances, () => clock.now() < answersFrom);
    const means: CollectingMeans = {
      ...{ store, scheduler: clock, client, publisher: `holder${epoch}` },
      ...{ lanes: new Lanes(256), readers: new Lanes(32), resumed: NEVER, retention, ensureStream },
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
    if (count === down?.from) answersFrom = clock.now() + down.lasts;
    take(packet);
    if (count !== diesAt) return;
    die();
    clock.schedule(() => void begin(2), pause);
  };
  void begin(1).then((end) => {
    die = end;
  });
  await clock.advanceTo(ends);
  for (const { gone } of watch.uncovered) wrongs.push(`${gone.join(", ")} is covered and gone`);
  for (const { what } of watch.unfenced) wrongs.push(what);
  const status = JSON.parse(kept()?.last(`${FEED.key}.status`)?.text ?? "{}").status ?? {};
  const { state, coveredFrom, coveredUntil } = status;
  if (state !== "live" || !(coveredFrom < coveredUntil) || !(coveredUntil >= ends - MINUTE)) {
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

it("nothing is covered that has grown too old to be kept, however long the service or the holder is away", async () => {
  const away = fc.integer({ min: 0, max: 9 }).map((minutes) => minutes * MINUTE);
  const point = fc.record({
    retention: fc.integer({ min: 4, max: 10 }).map((minutes) => minutes * MINUTE),
    diesAt: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
    pause: away,
    down: fc.option(fc.record({ from: fc.integer({ min: 1, max: 40 }), lasts: away }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(point, async (points) => {
      expect(await wrongsOf(points)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
