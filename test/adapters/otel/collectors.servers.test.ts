import { describe, expect, it } from "vitest";
import { type CollectOptions, collect } from "../../../src/adapters/nats/index.js";
import { meterClient } from "../../../src/adapters/otel/index.js";
import { createClient, type FetchLike } from "../../../src/index.js";
import { createPairService, simulatedMarket } from "../../../src/service/index.js";
import { seriesOf, WATCH } from "../nats/busy-service.js";
import { serverOfBlock } from "../nats/running.js";
import { hasServer, until } from "../nats/servers.js";
import { openMeter } from "./reader.js";

const market = simulatedMarket({ seed: 7, createdAt: Date.now() - 3_600_000, pairs: 3 });
const service = createPairService({ source: market });
const feeds = market.pairs.map((pair) => ({ ...seriesOf(pair), ...WATCH, since: { candles: 10 } }));

describe.skipIf(!hasServer)("a metered client of a collector", () => {
  const block = serverOfBlock();
  const { running } = block;

  function start(name: string, options: CollectOptions = {}, fetch: FetchLike = service.fetch) {
    const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch, rateLimit: false });
    const { reader, meter } = openMeter();
    running.push(meterClient(client, meter));
    const collecting = collect(block.connection, client, feeds, { name, ...options });
    running.push(collecting.subscribe({ error: () => {} }));
    /** The counts of one metric whose attributes all have these values. */
    const count = async (metric: string, of: Record<string, string> = {}) => {
      const all = { "pairstream.collector.group": "default", ...of };
      const points = await reader.points(metric);
      const counted = points.filter(([attributes]) =>
        Object.entries(all).every(([key, value]) => attributes[key] === value),
      );
      return counted.reduce((sum, [, number]) => sum + (number as number), 0);
    };
    return { reader, count };
  }

  it("shows who leads, hand-overs and messages, and the polls of the collector", async () => {
    const stopping = new AbortController();
    const first = start("metered", { lease: 4_000, signal: stopping.signal });
    const leading = "pairstream.collector.leading";
    await until("the first leads", async () => (await first.count(leading)) === 1);
    const second = start("metered", { lease: 4_000 });
    const handOvers = "pairstream.collector.handovers";
    expect(await first.count(handOvers, { "pairstream.handover.change": "taken" })).toBe(1);
    stopping.abort();
    await until("the second leads", async () => (await second.count(leading)) === 1);
    expect(await first.count(leading)).toBe(0);
    expect(await second.reader.points("pairstream.collector.troubles")).toHaveLength(2);
    expect(await first.count(handOvers, { "pairstream.handover.change": "given-up" })).toBe(1);
    expect(await second.count(handOvers, { "pairstream.handover.change": "taken" })).toBe(1);
    const messages = "pairstream.collector.messages";
    await until(
      "messages",
      async () => (await second.count(messages, { "pairstream.message.outcome": "stored" })) > 0,
    );
    await until("all polls are live", async () => {
      const points = await second.reader.points("pairstream.feeds");
      const live = points.find(([attributes]) => attributes["pairstream.feed.state"] === "live");
      return live?.[1] === feeds.length;
    });
  });

  it("shows that a collector leads no more once its lease has run out, as NATS is out of reach", async () => {
    const { count } = start("out-of-reach", { lease: 2_000 });
    const leading = "pairstream.collector.leading";
    await until("it leads", async () => (await count(leading)) === 1);
    block.server.freeze();
    await until("its lease has run out", async () => (await count(leading)) === 0);
    const troubles = { "pairstream.trouble.kind": "connection" };
    await until("trouble", async () => (await count("pairstream.collector.troubles", troubles)) > 0);
    block.server.thaw();
    await until("it leads again", async () => (await count(leading)) === 1);
  });

  it("counts feeds that fail for good", async () => {
    const [pair] = market.pairs;
    const refusing: FetchLike = async (url, init) =>
      url.includes(pair!)
        ? { status: 400, headers: { get: () => null }, text: async () => "" }
        : service.fetch(url, init);
    const { count } = start("failing", {}, refusing);
    const failed = { "pairstream.trouble.kind": "feed" };
    await until("a failed feed", async () => (await count("pairstream.collector.troubles", failed)) === 1);
  });
});
