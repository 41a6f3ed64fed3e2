import type { FeedPlan } from "../plan.js";
import { isProbe, seriesNameOf } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";
import { followsAtOnce, readOf, Shown } from "./answers.js";
import { requestsOf } from "./asked.js";
import { LEARNING } from "./polls.js";
import { driftsIn, isWithin, slotsWithin, spansOf } from "./spans.js";

/** Over fewer closings one request more would weigh too much. */
const LEAST = 10;

/** What a feed of closings has taken in good health. */
export interface Health {
  readonly feed: FeedPlan;
  readonly closings: number;
  /** All but those after answers that lacked a candle, and after the first ones of another machine, by which the time is learned anew. */
  readonly requests: number;
  /** How often one may be asked for twice, as clocks drift. */
  readonly drifts: number;
  readonly until: number;
}

/** The requests a closed candle, of each stretch of good health of a feed that polls at closings alone. */
export function healthOf(log: RunLog): readonly Health[] {
  const clock = serviceClockOf(log.plan.world);
  const healthyFrom = clock.at(log.plan.world.start + log.plan.healthyFrom);
  const requests = requestsOf(log);
  const list: Health[] = [];
  for (const feed of log.plan.feeds.filter(({ every }) => every === "close")) {
    const stays = log.stays.filter(({ plan }) => "feed" in plan && plan.feed === feed);
    const asked = requests.get(`ohlcv ${seriesNameOf(feed.series)}`) ?? [];
    // The search for a pair that shows no candle is counted with what the series may take in all.
    const polls = asked.filter((exchange) => !isProbe(exchange));
    for (const { from, until } of spansOf(log, stays)) {
      const healthy = { from: Math.max(from, healthyFrom), until };
      const slots = slotsWithin(feed, healthy).slice(LEARNING);
      const closings = slots.length - 2;
      if (closings < LEAST) continue;
      // From the middle between two closings to the middle between two others.
      const stretch = {
        from: (slots[0]! + slots[1]!) / 2,
        until: (slots.at(-2)! + slots.at(-1)!) / 2,
      };
      const shown = new Shown();
      let learning = LEARNING;
      const taken = polls.filter((exchange, at) => {
        const [before = exchange, next] = [polls[at - 1], polls[at + 1]];
        const read = readOf(exchange);
        const isLacking = read !== undefined && shown.lacks(read, next);
        if (isLacking || !isWithin(log, exchange.sent, stretch)) return false;
        const isLearned = exchange.ahead === before.ahead || !followsAtOnce(next, exchange);
        return isLearned || learning-- <= 0;
      }).length;
      const drifts = driftsIn(log, stretch);
      list.push({ feed, closings, requests: taken, drifts, until: clock.until(stretch.until) });
    }
  }
  return list;
}
