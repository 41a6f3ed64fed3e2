import type { Candle } from "pairstream";
import { clientSource } from "pairstream";
import { memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import { answered, at, KEY, MINUTES, World } from "../../../world.js";
import { ADDRESS, BORN, MINUTE, market, QUERY, START, Stage } from "./stage.js";

const HISTORY = `/history?${QUERY}`;
const FINAL = `${HISTORY}&from=${at("09:00:00")}&to=${at("10:00:00")}`;

const candlesIn = async (answer: Response): Promise<Candle[]> => (await answer.json()).candles;

/** What the library gives itself. */
async function truth(query: object): Promise<readonly Candle[]> {
  const world = market();
  const stage = new Stage({}, world);
  return stage.settled(clientSource(world.client).history({ ...MINUTES, ...query }));
}

describe("/history", () => {
  it.each([
    ["the newest", "", {}],
    ["the newest so many", "&count=7", { count: 7 }],
    ["those before an instant", `&to=${at("10:00:00")}&count=30`, { to: at("10:00:00"), count: 30 }],
    [
      "those of a range",
      "&from=2024-01-05T09:00:00Z&to=2024-01-05T10:00:00Z",
      { from: at("09:00:00"), to: at("10:00:00") },
    ],
  ])("gives closed candles: %s", async (_, text, query) => {
    const candles = await candlesIn(await new Stage().ask(HISTORY + text));
    expect(candles.length).toBeGreaterThan(5);
    expect(candles).toEqual(await truth(query));
  });

  it("may be kept where it is final, and by nobody where it may still change", async () => {
    const caching = async (path: string, stage = new Stage()) =>
      (await stage.ask(path)).headers.get("cache-control");
    expect(await caching(FINAL, new Stage({ allow: [MINUTES] }))).toBe("public, max-age=86400, immutable");
    expect(await caching(`${HISTORY}&to=${at("11:57:00")}&count=5`)).toMatch(/immutable/);
    // The newest two intervals before the one that runs may still change.
    expect(await caching(`${HISTORY}&to=${at("11:59:00")}&count=5`)).toBe("no-store");
    const patient = new Stage({ revisionWindow: 5 });
    expect(await caching(`${HISTORY}&to=${at("11:57:00")}&count=5`, patient)).toBe("no-store");
    expect(await caching(`${HISTORY}&count=5`)).toBe("no-store");
    expect(await caching(FINAL, new Stage({ allow: () => true }))).toBe("private, max-age=86400, immutable");
  });

  it("takes what is final by the service's clock, where this machine's is ahead", async () => {
    const stage = new Stage({}, market({ start: START + 60 * MINUTE, offset: -60 * MINUTE }));
    const answer = await stage.ask(`${HISTORY}&to=${at("12:30:00")}&count=5`);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("is read once for all who ask at once, and what is final once for ever", async () => {
    const requestsOf = async (stage: Stage) => {
      const answers = Array.from({ length: 100 }, () => stage.gateway.fetch(new Request(ADDRESS + FINAL)));
      const texts = await Promise.all(
        (await stage.settled(Promise.all(answers))).map((answer) => answer.text()),
      );
      expect(new Set(texts).size).toBe(1);
      return stage.world.asked.length;
    };
    const stage = new Stage();
    const once = await requestsOf(stage);
    expect(once).toBeLessThan(6);
    expect(await requestsOf(stage)).toBe(once);
    expect(stage.clock.pending).toBe(0);
  });

  it("comes out of the client's store", async () => {
    const store = memoryStore();
    const first = new Stage({}, market({ client: { store } }));
    const candles = await candlesIn(await first.ask(FINAL));
    await first.pass(2_000);
    const again = new Stage({}, market({ client: { store } }));
    expect(await candlesIn(await again.ask(FINAL))).toEqual(candles);
    expect(again.world.asked).toEqual([]);
  });

  it("costs the service no more than so many requests a minute, and says when there are more", async () => {
    const stage = new Stage({ historyRequests: 5 });
    const statuses: number[] = [];
    let refused: Response | undefined;
    for (let hour = 7; hour < 12; hour += 1) {
      for (let minute = 0; minute < 60; minute += 10) {
        const answer = await stage.ask(
          `${HISTORY}&to=${at("00:00:00") + (hour * 60 + minute) * MINUTE}&count=3`,
        );
        statuses.push(answer.status);
        if (answer.status === 429) refused = answer;
      }
    }
    expect(stage.world.asked.length).toBe(5);
    expect(statuses.at(0)).toBe(200);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const wait = Number(refused!.headers.get("retry-after"));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    // Streams are not of that budget.
    await stage.view();
    await stage.pass(1_000);
    expect(stage.world.asked.length).toBeGreaterThan(5);
    await stage.gateway.close();
    await stage.pass(60_000);
    expect(stage.world.asked.length).toBeLessThan(10);
  });

  it("comes again once the minute is over", async () => {
    const stage = new Stage({ historyRequests: 3 });
    const ask = (count: number) => stage.ask(`${HISTORY}&count=${count}`);
    while ((await ask(stage.world.asked.length + 10)).status === 200);
    await stage.pass(60_000);
    expect((await ask(9)).status).toBe(200);
  });

  it("ends its requests when all who asked have left, and only then", async () => {
    const stage = new Stage();
    const aborts = [new AbortController(), new AbortController()];
    const answers = aborts.map(({ signal }) => stage.gateway.fetch(new Request(ADDRESS + FINAL, { signal })));
    await stage.pass(5);
    aborts[0]!.abort();
    await stage.pass(0);
    expect((await answers[0]!).status).toBe(503);
    expect(stage.world.asked.map(({ outcome }) => outcome)).toEqual([undefined]);
    aborts[1]!.abort();
    await stage.pass(0);
    expect((await answers[1]!).status).toBe(503);
    expect(stage.world.asked.map(({ outcome }) => outcome)).toEqual(["aborted"]);
    expect(stage.clock.pending).toBe(0);
  });

  it("is read for few at once; the others wait for their turn", async () => {
    const stage = new Stage({ historyRequests: 1_000 });
    let open = 0;
    let most = 0;
    stage.world.interfere = async (_, answer) => {
      open += 1;
      most = Math.max(most, open);
      const said = await answer();
      await new Promise<void>((resolve) => stage.clock.schedule(() => resolve(), 100));
      open -= 1;
      return said;
    };
    const abort = new AbortController();
    const answers = Array.from({ length: 30 }, (_, at) =>
      stage.gateway.fetch(
        new Request(`${ADDRESS}${HISTORY}&count=${at + 1}`, at === 20 ? { signal: abort.signal } : {}),
      ),
    );
    await stage.pass(50);
    abort.abort();
    const statuses = (await stage.settled(Promise.all(answers))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(29);
    expect(most).toBe(8);
    expect(stage.clock.pending).toBe(0);
  });

  it.each([
    ["a key that is refused", 401, 502, "AuthenticationError"],
    ["a pair that it does not know", 404, 404, "HttpError"],
    ["too many requests", 429, 429, "RateLimitError"],
    ["trouble", 500, 502, "HttpError"],
  ])("tells of the service's %s without its words", async (_, status, expected, name) => {
    const world = market();
    world.interfere = async () => answered(status, { message: `secret ${KEY}` });
    const stage = new Stage({}, world);
    const answer = await stage.ask(HISTORY);
    const text = await answer.text();
    expect(answer.status).toBe(expected);
    expect(JSON.parse(text).error.name).toBe(name);
    expect(text).not.toContain(KEY);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.has("retry-after")).toBe(status === 429);
  });

  it("is empty where the pair had none", async () => {
    const stage = new Stage({}, new World({ start: START, createdAt: BORN, hasDate: true }));
    expect(await candlesIn(await stage.ask(FINAL))).toEqual([]);
  });
});
