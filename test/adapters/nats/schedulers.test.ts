import { NEVER, type SchedulerLike } from "rxjs";
import { beforeEach, expect, it, vi } from "vitest";
import type { ConsumerPlan } from "../../../src/adapters/nats/consumer.js";
import { readFeed } from "../../../src/adapters/nats/feed-reader.js";
import { signsOfLife } from "../../../src/adapters/nats/liveness.js";
import type { NatsConnection } from "../../../src/adapters/nats/nats.js";
import type { Store } from "../../../src/adapters/nats/store.js";
import { VirtualClock } from "../../../src/index.js";

/** The scheduler of each consumer that was made. */
const made: SchedulerLike[] = [];
beforeEach(() => {
  made.length = 0;
});

vi.mock("../../../src/adapters/nats/store.js", () => ({ Store: { open: async () => ({}) } }));
vi.mock("../../../src/adapters/nats/consumer.js", () => ({
  consume: (_store: Store, { scheduler }: ConsumerPlan) => {
    made.push(scheduler);
    return NEVER;
  },
}));

it("readers share a consumer only with those who go by the same scheduler", async () => {
  const [one, other] = [new VirtualClock(), new VirtualClock()];
  const connection = {} as NatsConnection;
  const settings = { name: "p", replicas: undefined, retention: undefined };
  const readings = [one, one, other].map((scheduler) =>
    readFeed(
      connection,
      { ...settings, scheduler },
      { key: "p.candles.x", stream: "p", subjects: "p.candles.>" },
      "all",
    ).subscribe(),
  );
  await one.advanceBy(1);
  expect(made).toEqual([one, other]);
  expect(made[1]).toBe(other);
  for (const reading of readings) reading.unsubscribe();
});

it("they share the questions whether a publisher lives only with those, too", async () => {
  const [one, other] = [new VirtualClock(), new VirtualClock()];
  let questions = 0;
  const connection = {
    request: async () => {
      questions += 1;
    },
  } as unknown as NatsConnection;
  const asking = [one, one, other].map((scheduler) =>
    signsOfLife(connection, { name: "p", publisher: "me", every: 1_000, scheduler }).subscribe(),
  );
  expect(questions).toBe(2);
  await other.advanceBy(3_000);
  expect(questions).toBe(5);
  for (const one of asking) one.unsubscribe();
});
