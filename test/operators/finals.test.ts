import { describe, it } from "vitest";
import type { CandleEvent } from "../../src/candles/event.js";
import { finals } from "../../src/operators/finals.js";
import { eventOf } from "./events.js";
import { describeManners, marbles } from "./manners.js";

const EVENTS = {
  a: eventOf("new", 1, "open"),
  c: eventOf("updated", 1, "closed", 2),
  f: eventOf("updated", 1, "final", 3),
  r: eventOf("removed", 1, "closed", 2),
  x: eventOf("removed", 1, "final", 2),
  F: eventOf("new", 2, "final"),
};

describe("finals", () => {
  describeManners(finals);

  it.each([
    ["emits a candle when it becomes final", "a-c-f-|", "----f-|", "^-----!"],
    ["emits what is final from the first on", "F-|", "F-|", "^-!"],
    ["emits no removal", "a-r-x|", "-----|", "^----!"],
    ["emits nothing for a candle that never is", "a-c|", "---|", "^--!"],
  ])("%s", (_, events, expected, subscription) => {
    marbles().run(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold<CandleEvent>(events, EVENTS);
      expectObservable(source.pipe(finals())).toBe(expected, EVENTS);
      expectSubscriptions(source.subscriptions).toBe(subscription);
    });
  });
});
