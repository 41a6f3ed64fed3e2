import type { Meter } from "@opentelemetry/api";
import { DataPointType, type Histogram } from "@opentelemetry/sdk-metrics";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  METRIC_HTTP_CLIENT_REQUEST_DURATION,
} from "@opentelemetry/semantic-conventions";
import {
  ATTR_URL_TEMPLATE,
  METRIC_HTTP_CLIENT_RESPONSE_BODY_SIZE,
} from "@opentelemetry/semantic-conventions/incubating";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MeterOptions, meterClient } from "../../../src/adapters/otel/index.js";
import { memoryStore } from "../../../src/adapters/store/index.js";
import { MAX_BODY } from "../../../src/client/send/transport.js";
import { createClient, watchCandles, watchSnipers } from "../../../src/index.js";
import { answered, at, KEY, MINUTES, PAIR, World } from "../../world.js";
import { openMeter } from "./reader.js";

const START = at("12:00:30");
const CANDLES = `/token/{network}/pairs/{pairAddress}/ohlcv`;

/** A metered world with a swap in every minute. */
function openWorld(more: Partial<ConstructorParameters<typeof World>[0]> = {}, options: MeterOptions = {}) {
  const world = new World({ start: START, latency: 25, ...more });
  world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
  const { reader, meter } = openMeter();
  const metering = meterClient(world.client, meter, options);
  return { world, reader, meter, metering };
}

describe("meterClient", () => {
  it("measures requests by the semantic conventions", async () => {
    const { world, reader } = openWorld();
    const watching = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:00:31"));
    const metric = (await reader.read()).get(METRIC_HTTP_CLIENT_REQUEST_DURATION)!;
    expect(metric.descriptor).toMatchObject({ unit: "s", description: "Duration of HTTP client requests." });
    expect(metric.dataPointType).toBe(DataPointType.HISTOGRAM);
    const [{ value }] = metric.dataPoints as unknown as [{ value: Histogram }];
    expect(value.buckets.boundaries).toEqual([
      0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]);
    const attributes = {
      [ATTR_HTTP_REQUEST_METHOD]: "GET",
      [ATTR_SERVER_ADDRESS]: "localhost",
      [ATTR_SERVER_PORT]: 80,
      [ATTR_URL_TEMPLATE]: CANDLES,
      [ATTR_HTTP_RESPONSE_STATUS_CODE]: 200,
    };
    expect(await reader.points(METRIC_HTTP_CLIENT_REQUEST_DURATION)).toEqual([
      [attributes, { count: 1, sum: 0.05 }],
    ]);
    const sizes = (await reader.read()).get(METRIC_HTTP_CLIENT_RESPONSE_BODY_SIZE)!;
    expect(sizes.descriptor.unit).toBe("By");
    const [body] = sizes.dataPoints as unknown as [{ value: Histogram }];
    expect(body.value.buckets.boundaries.at(-1)).toBe(MAX_BODY);
    const [[, size]] = (await reader.points(METRIC_HTTP_CLIENT_RESPONSE_BODY_SIZE)) as [
      [object, { count: number; sum: number }],
    ];
    const { bytes } = world.activity.find(({ type }) => type === "response") as { bytes?: number };
    expect(size).toEqual({ count: 1, sum: bytes });
    expect(await reader.points("pairstream.client.units")).toEqual([[{ [ATTR_URL_TEMPLATE]: CANDLES }, 150]]);
    watching.unsubscribe();
  });

  it("says why requests fail, and what was tried again", async () => {
    const { world, reader } = openWorld({ client: { retry: { attempts: 4 } } });
    const fates = [
      () => answered(503, "out of order"),
      () => answered(200, "no JSON"),
      () => Promise.reject(new Error("reset")),
    ];
    world.interfere = () => fates.shift()?.();
    const watching = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:00:50"));
    const points = await reader.points(METRIC_HTTP_CLIENT_REQUEST_DURATION);
    const outcomes = points.map(([attributes]) => [
      attributes[ATTR_HTTP_RESPONSE_STATUS_CODE],
      attributes[ATTR_ERROR_TYPE],
    ]);
    expect(outcomes).toEqual([
      [503, "503"],
      [200, "ContractError"],
      [undefined, "NetworkError"],
      [200, undefined],
    ]);
    expect(await reader.points("pairstream.client.retries")).toEqual([
      [{ [ATTR_ERROR_TYPE]: "HttpError" }, 1],
      [{ [ATTR_ERROR_TYPE]: "ContractError" }, 1],
      [{ [ATTR_ERROR_TYPE]: "NetworkError" }, 1],
    ]);
    watching.unsubscribe();
  });

  it("names the server by the client's base URL", async () => {
    const ports: [string, string, number][] = [
      ["https://api.example.com/v1", "api.example.com", 443],
      ["https://api.example.com:8443", "api.example.com", 8443],
      ["http://127.0.0.1", "127.0.0.1", 80],
      ["http://[::1]:3000", "::1", 3000],
    ];
    for (const [baseUrl, address, port] of ports) {
      const fetch = async () => answered(503, "");
      const client = createClient({ baseUrl, apiKey: "key", fetch, retry: false });
      const { reader, meter } = openMeter();
      meterClient(client, meter);
      await client.sniperReport({ pairAddress: PAIR }).catch(() => {});
      const [[attributes]] = (await reader.points(METRIC_HTTP_CLIENT_REQUEST_DURATION)) as [[object, object]];
      expect(attributes).toMatchObject({
        [ATTR_SERVER_ADDRESS]: address,
        [ATTR_SERVER_PORT]: port,
        [ATTR_URL_TEMPLATE]: "/token/{network}/pairs/{pairAddress}/snipers",
      });
    }
  });

  it("counts each change of a candle once, and how late candles close, but none of the first answer", async () => {
    const { world, reader } = openWorld();
    const watching = watchCandles(world.client, MINUTES).subscribe();
    const other = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:00:45"));
    expect(await reader.points("pairstream.candle.close.lateness")).toEqual([]);
    await world.clock.advanceTo(at("12:03:30"));
    const [[attributes, lateness], ...others] = (await reader.points("pairstream.candle.close.lateness")) as [
      [object, { count: number; sum: number }],
    ];
    expect(others).toEqual([]);
    expect(attributes).toEqual({ "pairstream.timeframe": "1min" });
    expect(lateness.count).toBe(3);
    // The three answers come 25 ms after their requests.
    expect(lateness.sum).toBeLessThan(0.3);
    const closed = (await reader.points("pairstream.candles")).filter(
      ([of]) => of["pairstream.candle.status"] === "closed" && of["pairstream.candle.change"] === "updated",
    );
    expect(closed.map(([, count]) => count)).toEqual([3]);
    watching.unsubscribe();
    other.unsubscribe();
  });

  it("measures the closes of an outage by when they were due", async () => {
    const { world, reader } = openWorld({ client: { retry: false } });
    const watching = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:00:45"));
    world.interfere = () => answered(503, "");
    await world.clock.advanceTo(at("12:02:30"));
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:03:30"));
    const [[, { count, sum }]] = (await reader.points("pairstream.candle.close.lateness")) as [
      [object, { count: number; sum: number }],
    ];
    expect(count).toBe(3);
    expect(sum).toBeGreaterThan(60);
    watching.unsubscribe();
  });

  it("shows how its polls stand when the metrics are read, those that have gone as none", async () => {
    const { world, reader } = openWorld({ client: { retry: false } });
    const standing = async () =>
      (await reader.points("pairstream.feeds")).flatMap(([attributes, count]) => {
        const { "pairstream.feed.kind": kind, "pairstream.feed.state": state } = attributes;
        return count === 0 ? [] : [`${count} ${kind} ${state}`];
      });
    expect(await standing()).toEqual([]);
    const watching = watchCandles(world.client, MINUTES).subscribe();
    const snipers = watchSnipers(world.client, { pairAddress: PAIR }).subscribe();
    expect(await standing()).toEqual(["1 candles starting", "1 snipers starting"]);
    await world.clock.advanceTo(at("12:00:45"));
    expect(await standing()).toEqual(["1 candles live", "1 snipers live"]);
    world.interfere = () => answered(503, "");
    await world.clock.advanceTo(at("12:02:45"));
    expect(await standing()).toEqual(["1 candles stalled", "1 snipers stalled"]);
    watching.unsubscribe();
    snipers.unsubscribe();
    expect(await standing()).toEqual([]);
    const counts = (await reader.points("pairstream.feeds")).map(([, count]) => count);
    expect(counts).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("shows what is left of a quota, and reading that changes nothing", async () => {
    const quota = { units: 1_000, per: 86_400_000 };
    const { world, reader } = openWorld({ client: { quota } });
    expect(await reader.points("pairstream.quota.remaining")).toEqual([[{}, 1_000]]);
    const watching = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:00:31"));
    expect(await reader.points("pairstream.quota.limit")).toEqual([[{}, 1_000]]);
    expect(await reader.points("pairstream.quota.remaining")).toEqual([[{}, 850]]);
    watching.unsubscribe();
    const without = openWorld();
    expect((await without.reader.read()).has("pairstream.quota.limit")).toBe(false);
  });

  it("counts waits, rows that are left out, failures of the store and jumps of the clock", async () => {
    const store = { ...memoryStore(), read: () => Promise.reject(new Error("the disk is gone")) };
    const { world, reader } = openWorld({
      hasDate: true,
      client: { store, rateLimit: { requests: 1, per: 1_000 } },
    });
    let isBroken = true;
    world.interfere = async (_asked, answer) => {
      const served = await answer();
      const body = JSON.parse(await served.text()) as { result?: { open: unknown }[] };
      if (isBroken && body.result?.[0] !== undefined) body.result[0].open = "much";
      return { ...served, text: async () => JSON.stringify(body) };
    };
    const watching = watchCandles(world.client, { ...MINUTES, since: { candles: 20 } }).subscribe();
    const snipers = watchSnipers(world.client, { pairAddress: PAIR }).subscribe();
    await world.clock.advanceTo(at("12:05:30"));
    isBroken = false;
    world.jump(3_600_000);
    await world.clock.advanceTo(at("12:07:30"));
    watching.unsubscribe();
    snipers.unsubscribe();
    const total = async (name: string) =>
      (await reader.points(name)).reduce((sum, [, count]) => sum + (count as number), 0);
    const told = (is: (activity: (typeof world.activity)[number]) => boolean) =>
      world.activity.filter(is).length;
    expect(told(({ type }) => type === "dropped")).toBeGreaterThan(0);
    expect(told(({ type }) => type === "store")).toBeGreaterThan(0);
    expect(told(({ type }) => type === "throttled")).toBeGreaterThan(0);
    expect(await total("pairstream.client.dropped_rows")).toBe(told(({ type }) => type === "dropped"));
    expect(await total("pairstream.store.failures")).toBe(told(({ type }) => type === "store"));
    expect(await total("pairstream.client.throttlings")).toBe(told(({ type }) => type === "throttled"));
    expect(await total("pairstream.client.clock_jumps")).toBe(1);
  });

  it("counts from 0 what may never happen, so that a query sees the first time", async () => {
    const { reader } = openWorld({ client: { store: memoryStore() } });
    const counts: Record<string, number> = {};
    for (const [name, { dataPoints }] of await reader.read()) counts[name] = dataPoints.length;
    expect(counts).toEqual({
      "pairstream.client.throttlings": 2,
      "pairstream.client.clock_jumps": 1,
      "pairstream.client.dropped_rows": 1,
      "pairstream.store.failures": 3,
    });
  });

  it("has no address of a pair in any attribute, unless asked", async () => {
    const seen = async (options: MeterOptions) => {
      const { world, reader } = openWorld(
        { client: { quota: { units: 9_000_000, per: 86_400_000 } } },
        options,
      );
      const watching = watchCandles(world.client, MINUTES).subscribe();
      const snipers = watchSnipers(world.client, { pairAddress: PAIR }).subscribe();
      await world.clock.advanceTo(at("12:02:30"));
      const metrics = [...(await reader.read()).values()];
      watching.unsubscribe();
      snipers.unsubscribe();
      return metrics.flatMap(({ descriptor, dataPoints }) =>
        JSON.stringify(dataPoints.map(({ attributes }) => attributes)).includes(PAIR)
          ? [descriptor.name]
          : [],
      );
    };
    expect(await seen({})).toEqual([]);
    expect((await seen({ pairs: true })).sort()).toEqual([
      "http.client.request.duration",
      "http.client.response.body.size",
      "pairstream.candle.close.lateness",
      "pairstream.candles",
      "pairstream.client.units",
      "pairstream.feeds",
    ]);
  });

  it("gives every measurement the attributes that it is told", async () => {
    const quota = { units: 9_000, per: 86_400_000 };
    const { world, reader } = openWorld({ client: { quota } }, { attributes: { key: "a", shard: 2 } });
    const watching = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:02:30"));
    watching.unsubscribe();
    for (const { descriptor, dataPoints } of (await reader.read()).values()) {
      for (const { attributes } of dataPoints) {
        expect(attributes, descriptor.name).toMatchObject({ key: "a", shard: 2 });
      }
    }
  });

  it("tells two clients on one meter apart by their attributes", async () => {
    const { reader, meter } = openMeter();
    const watching = [1_000, 2_000].map((units) => {
      const { client } = new World({ start: START, client: { quota: { units, per: 86_400_000 } } });
      meterClient(client, meter, { attributes: { units } });
      return watchCandles(client, MINUTES).subscribe();
    });
    expect(await reader.points("pairstream.quota.limit")).toEqual([
      [{ units: 1_000 }, 1_000],
      [{ units: 2_000 }, 2_000],
    ]);
    const starting = (await reader.points("pairstream.feeds")).filter(([, count]) => count === 1);
    expect(starting.map(([{ units }]) => units)).toEqual([1_000, 2_000]);
    for (const one of watching) one.unsubscribe();
  });

  it("measures nothing more once it is unsubscribed", async () => {
    const { world, reader, metering } = openWorld();
    metering.unsubscribe();
    const watching = watchCandles(world.client, MINUTES).subscribe();
    await world.clock.advanceTo(at("12:02:30"));
    watching.unsubscribe();
    const values = [...(await reader.read()).values()].flatMap(({ dataPoints }): unknown[] =>
      dataPoints.map(({ value }) => value),
    );
    expect(values.filter((value) => value !== 0)).toEqual([]);
  });

  it("gives names and units that OpenTelemetry allows, and a description", async () => {
    const made: { name: string; unit: string; description: string }[] = [];
    const note = (name: string, { unit = "", description = "" } = {}) => {
      made.push({ name, unit, description });
      return { addCallback() {}, removeCallback() {}, add() {}, record() {} };
    };
    const makers = ["Counter", "Histogram", "ObservableGauge", "ObservableUpDownCounter"];
    const meter = Object.fromEntries(makers.map((kind) => [`create${kind}`, note])) as unknown as Meter;
    meterClient(openWorld().world.client, meter);
    expect(made.map(({ name }) => name).filter((name) => !name.startsWith("pairstream."))).toEqual([
      METRIC_HTTP_CLIENT_REQUEST_DURATION,
      METRIC_HTTP_CLIENT_RESPONSE_BODY_SIZE,
    ]);
    expect(new Set(made.map(({ name }) => name)).size).toBe(made.length);
    for (const { name, unit, description } of made) {
      expect(name).toMatch(/^[a-z]+(\.[a-z_]+)+$/);
      expect(unit).toMatch(/^(s|By|\{[a-z]+\})$/);
      expect(description).toMatch(/^[A-Z].*\.$/);
    }
  });

  it("refuses what is no client, no meter or no option, at the call", () => {
    const { world, meter } = openWorld();
    const refused = (call: () => unknown) => {
      try {
        call();
      } catch (error) {
        const { name, parameter } = error as { name: string; parameter?: string };
        return `${name} ${parameter}`;
      }
      return "taken";
    };
    expect(refused(() => meterClient({} as never, meter))).toBe("InvalidInputError client");
    for (const wrong of [undefined, null, 1, {}, { createCounter: 1 }]) {
      expect(refused(() => meterClient(world.client, wrong as never))).toBe("InvalidInputError meter");
    }
    const options: [object | null, string][] = [
      [null, "options"],
      [{ pair: true }, "pair"],
      [{ pairs: 1 }, "pairs"],
      [{ attributes: 1 }, "attributes"],
      [{ attributes: ["a"] }, "attributes"],
      [{ attributes: { "error.type": "a" } }, "attributes"],
      [{ attributes: { key: Number.NaN } }, "attributes.key"],
      [{ attributes: { key: {} } }, "attributes.key"],
    ];
    for (const [wrong, parameter] of options) {
      expect(refused(() => meterClient(world.client, meter, wrong as never))).toBe(
        `InvalidInputError ${parameter}`,
      );
    }
  });

  it("tells the size of every body as UTF-8 has it, and as a tape holds it, without the key", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 40 }), fc.boolean(), async (text, hasKey) => {
        const bodyWith = (key: string) => JSON.stringify(hasKey ? { text, key } : { text });
        const fetch = async () => answered(200, bodyWith(KEY));
        const client = createClient({ baseUrl: "https://service.test", apiKey: KEY, fetch, retry: false });
        const sizes: (number | undefined)[] = [];
        client.activity.subscribe((activity) => {
          if (activity.type === "response") sizes.push(activity.bytes);
        });
        await client.sniperReport({ pairAddress: PAIR }).catch(() => {});
        expect(sizes).toEqual([Buffer.byteLength(bodyWith("[left out: holds the key]"))]);
      }),
      { numRuns: 50 },
    );
  });
});
