import { expect, it } from "vitest";
import { calm, onTime } from "./calm.js";
import type { NatsFault } from "./plan.js";
import { playNats } from "./run.js";

const AT = 30_000;
const LENGTH = 90_000;

/** How long after the leader is struck another one leads, and nobody has asked by then, in s, over some instants of its lease. */
async function handOver(strike: (collector: number, from: number) => NatsFault) {
  const leads: number[] = [];
  const asks: number[] = [];
  for (const shift of [0, 300, 700, 1_100, 1_500]) {
    const base = {
      ...{ collectors: onTime(3), lease: 15_000, timeout: 10_000, length: LENGTH, healthyFrom: LENGTH },
      ...{ limit: { requests: 60, per: 1_000 }, latency: { servers: 5, service: 20, spread: 1 } },
    };
    const first = await playNats(calm(base));
    const leader = first.lives.find(({ activities }) =>
      activities.some(({ activity }) => activity.type === "leading"),
    )!;
    const from = AT + shift;
    const log = await playNats(calm({ ...base, faults: [strike(leader.collector, from)] }));
    const struck = log.plan.start + from;
    const next = log.lives
      .filter(({ collector }) => collector !== leader.collector)
      .flatMap(({ activities }) => activities.filter(({ activity }) => activity.type === "leading"))
      .map(({ at }) => at - struck);
    leads.push(Math.min(...next));
    const asked = log.arrivals.filter(({ at, collector }) => at > struck && collector !== leader.collector);
    asks.push(Math.min(...asked.map(({ at }) => at - struck)));
  }
  const range = (all: readonly number[]) =>
    [Math.min(...all), Math.max(...all)].map((ms) => Math.round(ms / 100) / 10);
  return { leads: range(leads), asks: range(asks) };
}

/** As docs/nats.md says. */
it("a leader that leaves, is killed, sleeps or is cut off is replaced within the bounds that are told", async () => {
  const until = LENGTH - 1;
  const figures = {
    left: await handOver((collector, from) => ({ kind: "leave", collector, from, until })),
    killed: await handOver((collector, from) => ({
      ...{ kind: "crash", collector, from, until },
      operation: 0,
      isSent: false,
    })),
    asleep: await handOver((collector, from) => ({ kind: "pause", whom: { collector }, from, until })),
    cutOff: await handOver((collector, from) => ({
      kind: "cut",
      whom: { collector },
      side: "servers",
      from,
      until,
    })),
  };
  expect(figures).toMatchInlineSnapshot(`
    {
      "asleep": {
        "asks": [
          20.5,
          23.9,
        ],
        "leads": [
          9.4,
          12.9,
        ],
      },
      "cutOff": {
        "asks": [
          20.5,
          23.9,
        ],
        "leads": [
          9.4,
          12.9,
        ],
      },
      "killed": {
        "asks": [
          20.5,
          23.9,
        ],
        "leads": [
          9.4,
          12.9,
        ],
      },
      "left": {
        "asks": [
          1.1,
          1.1,
        ],
        "leads": [
          0,
          0,
        ],
      },
    }
  `);
});
