import { expect, it } from "vitest";
import type { Candle } from "../../../src/index.js";
import type { FeedPlan } from "../plan.js";
import type { Look } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { watchLives } from "./lives.js";
import type { Context } from "./monitor.js";

const START = Date.UTC(2024, 0, 1);
const MINUTE = 60_000;
const at = (minute: number) => START + minute * MINUTE;
const SERIES = { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };

interface Case {
  /** The first minute that is told, to one who has come in the tenth, and gets the first page in the twentieth. */
  readonly begins: number;
  /** When somebody sets the machine's clock. */
  readonly setAt?: number;
  /** When another one has come who shares the poll. */
  readonly sharedFrom?: number;
  /** Whether the time is known with the first page. */
  readonly knowsTime?: boolean;
}

const FEED = { series: SERIES, every: "close", settle: 0, revisionWindow: 2, weekStart: "monday" };

/** The breaches of streams that have the answer of one poll, where the time is known. */
async function breachesWith(log: object, look: object, context: Partial<Context> = {}): Promise<string[]> {
  const breaches: string[] = [];
  const certain: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what.replace(/.*: /, "")}`),
    looksAt: () => [look as Look],
    answersOf: () => [look as Look],
    serviceClock: (instant) => instant,
    isTrusted: () => true,
    knowsTime: () => true,
    clockTolerance: 0,
    toleranceAt: () => 0,
    clockWasSet: () => false,
  };
  const whole = { told: [], activities: [], plan: { world: {} }, ...log } as unknown as RunLog;
  await watchLives(whole, { ...certain, ...context } as Context);
  return breaches;
}

function lookAt(answeredAt: number, candle: Candle, isShown = true) {
  const rows = new Map(isShown ? [[candle.timestamp, [candle]]] : []);
  return { isHistory: false, order: 1, answeredAt, rows, asked: { from: at(0), to: at(21) } };
}

const candleOf = (timestamp: number, swaps: number) =>
  ({ timestamp, open: 1, high: 1, low: 1, close: 1, volume: swaps, swaps }) as Candle;

function breachesOf({ begins, setAt, sharedFrom = 10.5, knowsTime = true }: Case): Promise<string[]> {
  const candle = candleOf(at(begins), 1);
  const value = { type: "new", candle, status: "final", revision: 0, observedAt: at(20) };
  const plan = { kind: "candles", feed: FEED as FeedPlan, options: {} };
  const stay = { id: 1, plan, joined: at(10.5), joinedOrder: 0, events: [{ at: at(20), order: 1, value }] };
  const stays = [stay, { ...stay, id: 2, joined: at(sharedFrom), events: [] }];
  return breachesWith({ stays }, lookAt(at(20), candle), {
    knowsTime: (order) => order === 0 || knowsTime,
    clockWasSet: (from, until) => setAt !== undefined && at(setAt) >= from && at(setAt) <= until,
  });
}

it("lets a flat be new once more only after the client has said that its minute is not over yet", async () => {
  /** A flat of the tenth minute, told in the twelfth and the fourteenth; `swaps`: or a real one. */
  const toldTwice = (jump?: { said: number; to: number; jumped?: boolean }, swaps = 0) => {
    const candle = candleOf(at(10), swaps);
    const value = { type: "new", candle, status: "closed", revision: 0, observedAt: at(12), series: SERIES };
    const plan = { kind: "candles", feed: FEED as FeedPlan, options: { fillGaps: true } };
    const events = [12, 14].map((minute) => ({ at: at(minute), order: 1, value }));
    const stay = { id: 1, plan, joined: at(10.5), joinedOrder: 0, events };
    const activities = (jump ? [jump] : []).map(({ said, to, jumped = true }) => {
      const offset = (to - said) * MINUTE;
      return { at: at(said), value: { type: "clock", at: at(said), offset, uncertainty: 500, jumped } };
    });
    return breachesWith({ stays: [stay], activities }, lookAt(at(12), candle, swaps > 0));
  };
  const isThere = ["2: is new although it is there"];
  expect(await toldTwice()).toEqual(isThere);
  expect(await toldTwice({ said: 13, to: 10.5 })).toEqual([]);
  expect(await toldTwice({ said: 13, to: 12.5 })).toEqual(isThere);
  expect(await toldTwice({ said: 13, to: 10.5, jumped: false })).toEqual(isThere);
  expect(await toldTwice({ said: 11, to: 10.5 })).toEqual(isThere);
  expect(await toldTwice({ said: 15, to: 10.5 })).toEqual(isThere);
  expect(await toldTwice({ said: 13, to: 10.5 }, 1)).toEqual(isThere);
});

it("wants a stream to begin with its interval, and with what its poll has where a clock was set before the first page", async () => {
  const isOlder = ["5: is older than the interval that ran at the subscription"];
  expect(await breachesOf({ begins: 10 })).toEqual([]);
  expect(await breachesOf({ begins: 9 })).toEqual(isOlder);
  expect(await breachesOf({ begins: 9, knowsTime: false })).toEqual([]);
  expect(await breachesOf({ begins: 8, setAt: 15 })).toEqual([]);
  expect(await breachesOf({ begins: 7, setAt: 15 })).toEqual(isOlder);
  expect(await breachesOf({ begins: 8, setAt: 5 })).toEqual(isOlder);
  expect(await breachesOf({ begins: 4, setAt: 15, sharedFrom: 6.5 })).toEqual([]);
  expect(await breachesOf({ begins: 3, setAt: 15, sharedFrom: 6.5 })).toEqual(isOlder);
});

it("wants no history after what a poll has told, which comes at the instant of its answer", async () => {
  const told = (["history", "close", "history"] as const).map((priority, index) => ({
    ...{ priority, received: at(20) + index * 1_000 },
  }));
  const toldAfter = (pause: number) => {
    const events = told.map(({ received }, index) => {
      const value = { type: "new", candle: candleOf(at(index), 1), status: "final", revision: 0 };
      const delay = index === 1 ? pause : 0;
      return {
        at: received + delay,
        order: index + 1,
        value: { ...value, observedAt: at(20), series: SERIES },
      };
    });
    const plan = { kind: "candles", feed: FEED as FeedPlan, options: { since: at(0) } };
    const stay = { id: 1, plan, joined: at(10.5), joinedOrder: 0, events };
    return breachesWith({ stays: [stay], told }, lookAt(at(20), candleOf(at(2), 1)));
  };
  expect(await toldAfter(0)).toContain("5: is history, after what is not");
  expect(await toldAfter(1)).not.toContain("5: is history, after what is not");
});

it("takes a copy whose age a cache hides for a new answer, in what may be filled", async () => {
  const filled = (old: number, tellsAge: boolean) => {
    const candle = candleOf(at(10), 0);
    const value = { type: "new", candle, status: "closed", revision: 0, observedAt: at(11) + 500 };
    const feed = { ...FEED, settle: 250 } as FeedPlan;
    const plan = { kind: "candles", feed, options: { fillGaps: true } };
    const events = [{ at: at(11) + 500, order: 1, value: { ...value, series: SERIES } }];
    const stay = { id: 1, plan, joined: at(10.5), joinedOrder: 0, events };
    const log = { stays: [stay], plan: { world: { cache: { tellsAge } } } };
    return breachesWith(log, { ...lookAt(at(11) + 235, candle, false), old });
  };
  const isUnknown = "6: fills what is not known to be empty";
  expect(await filled(293, false)).not.toContain(isUnknown);
  expect(await filled(14, false)).toContain(isUnknown);
  expect(await filled(293, true)).toContain(isUnknown);
});
