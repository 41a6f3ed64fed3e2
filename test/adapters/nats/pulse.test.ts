import type { NatsConnection } from "@nats-io/transport-node";
import { expect, it } from "vitest";
import { type Pulse, pulseOf } from "../../../src/adapters/nats/pulse.js";
import { candleSubjects } from "../../../src/adapters/nats/subjects.js";
import { VirtualClock } from "../../../src/index.js";
import { seriesOf } from "./busy-service.js";

const FEED = candleSubjects("pairstream", seriesOf("pair"));
const EVERY = 1_000;

/** What is told, and when: `answers` has what comes of each question, "" where it does not know the feed, or nothing. */
function stage(answers: readonly (string | undefined)[]) {
  const clock = new VirtualClock(0);
  const asked: number[] = [];
  const told: (readonly [at: number, pulse: Pulse])[] = [];
  const request = (subject: string, text: string, { timeout }: { timeout: number }) => {
    expect([subject, text, timeout]).toEqual(["pairstream.alive.me", FEED.key, EVERY / 2]);
    const answer = answers[asked.length];
    asked.push(clock.now());
    if (answer !== undefined) return Promise.resolve({ string: () => answer });
    return new Promise((_, reject) => clock.schedule(() => reject(new Error("timeout")), timeout));
  };
  const connection = { request } as unknown as NatsConnection;
  const asking = { name: "pairstream", publisher: "me", feed: FEED, every: EVERY, scheduler: clock };
  const watching = pulseOf(connection, asking).subscribe((pulse) => told.push([clock.now(), pulse]));
  return { clock, asked, told, watching };
}

const ALIVE = JSON.stringify({ epoch: 3, number: 7 });

it("tells of each answer, and of each question from the second one on that has none", async () => {
  const { clock, asked, told } = stage([ALIVE, undefined, undefined, undefined, ALIVE, ALIVE]);
  await clock.advanceTo(5_999);
  expect(asked).toEqual([0, 1_000, 1_750, 3_250, 4_750, 5_750]);
  const alive = { epoch: 3, number: 7 };
  expect(told).toEqual([
    [0, alive],
    [2_250, "dead"],
    [3_750, "dead"],
    [4_750, alive],
    [5_750, alive],
  ]);
});

it("takes one for dead that works on the feed no more, and one whose answer is none", async () => {
  const { clock, told } = stage(["", "", "poison", JSON.stringify({ epoch: -1 })]);
  await clock.advanceTo(2_999);
  expect(told.map(([, pulse]) => pulse)).toEqual(["dead", "dead", "dead"]);
});

it("asks a dead collector no more often than one that lives", async () => {
  const { clock, asked } = stage(Array.from({ length: 99 }, () => ""));
  await clock.advanceTo(60_000);
  expect(asked.length).toBeLessThanOrEqual(62);
});

it("asks no more once nobody wants to know, also where an answer is on its way", async () => {
  const { clock, asked, told, watching } = stage([ALIVE, undefined]);
  await clock.advanceTo(1_100);
  watching.unsubscribe();
  await clock.advanceTo(10_000);
  expect([asked, told.length]).toEqual([[0, 1_000], 1]);
});
