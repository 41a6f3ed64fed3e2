import { describe, expect, it } from "vitest";
import { answerOf, type Exchange } from "./exchanges.js";
import { Front } from "./front.js";
import type { Plan } from "./plan.js";
import type { CachePlan, ReplicasPlan, WorldPlan } from "./world-plan.js";

const START = Date.UTC(2024, 0, 1);
const URL = "http://localhost/ohlcv?timeframe=1min&currency=usd&fromDate=0&toDate=600&limit=9";

interface Given {
  readonly body: string;
  readonly date: string | null;
  readonly age: string | null;
  readonly exchange: Exchange;
}

/** A front whose service answers with how much its answer lags, and the number of the request. */
function frontWith(own: { cache?: CachePlan; replicas?: ReplicasPlan }) {
  const world = { start: START, offset: 0, drift: 0, ...own } as unknown as WorldPlan;
  const front = new Front({ seed: 1, world } as Plan);
  let id = 0;
  return async (after: number, url = URL): Promise<Given> => {
    const exchange = { id, faults: [], old: 0, lag: 0, hidesAge: false } as unknown as Exchange;
    const now = START + after;
    const answer = await front.pass(exchange, url, now, async (lag) =>
      answerOf(200, `answer ${id} ${lag}`, { date: new Date(now - lag).toUTCString() }),
    );
    id += 1;
    const [date, age] = [answer.headers.get("date"), answer.headers.get("age")];
    return { body: await answer.text(), date, age, exchange };
  };
}

const cacheOf = (own: Partial<CachePlan>): CachePlan => ({
  keeps: 20_000,
  tellsAge: true,
  ...own,
});

describe("a cache", () => {
  it("gives an answer again while it keeps it, and tells how old it is", async () => {
    const ask = frontWith({ cache: cacheOf({}) });
    const first = await ask(0);
    const again = await ask(19_999);
    expect(again).toMatchObject({ body: first.body, date: first.date, age: "19" });
    expect(again.exchange).toMatchObject({ answeredAt: START, old: 19_999, hidesAge: false, faults: [] });
    expect((await ask(20_000)).body).toBe("answer 2 0");
  });

  it("may hide that, with the old date", async () => {
    const ask = frontWith({ cache: cacheOf({ tellsAge: false }) });
    const first = await ask(0);
    const again = await ask(19_000);
    expect(again).toMatchObject({ body: first.body, date: first.date, age: null });
    expect(again.exchange).toMatchObject({ old: 19_000, hidesAge: true });
  });
});

it("a replica that lags answers in its turn, with what was known before and the right date", async () => {
  const ask = frontWith({ replicas: { lag: 3_000, turns: 1, share: 0.5 } });
  const answers = [await ask(10_000), await ask(11_000), await ask(12_000)];
  expect(answers.map(({ body }) => body)).toEqual(["answer 0 3000", "answer 1 0", "answer 2 3000"]);
  expect(answers.map(({ exchange }) => exchange.lag)).toEqual([3_000, 0, 3_000]);
  expect(answers.map(({ date }) => Date.parse(date!) - START)).toEqual([10_000, 11_000, 12_000]);
});
