import { FAULT_KINDS, withFaults } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { address, answersOf, Bench, candlesPath, headers, only, snipersPath, times } from "./fault-bench.js";
import { ohlcv } from "./harness.js";

const rowsOf = ({ text }: { text: string }): Record<string, unknown>[] => JSON.parse(text).result;

describe("faults of the connection", () => {
  it("delay: the same answer, later, most of them soon", async () => {
    const bench = only("delay", { longestDelay: 8_000 });
    const took: number[] = [];
    for (const _ of times(60)) {
      const answer = await bench.answer();
      expect(answer.status).toBe(200);
      expect(rowsOf(answer).length).toBeGreaterThan(15);
      took.push(answer.took);
    }
    expect(bench.faults).toHaveLength(60);
    expect(Math.max(...took)).toBeLessThanOrEqual(8_000);
    expect(Math.max(...took)).toBeGreaterThan(5_000);
    expect(took.filter((ms) => ms <= 4_000).length).toBeGreaterThan(30);
    expect(bench.clock.pending).toBe(0);
  });

  it("delay: holds up the way there as well as the way back", async () => {
    const bench = only("delay", { longestDelay: 30_000 });
    let stale = 0;
    let late = 0;
    for (const _ of times(30)) {
      const sent = bench.clock.now();
      const { date, took } = await bench.answer();
      if (Date.parse(date!) < sent + took - 2_000) stale += 1;
      if (Date.parse(date!) > sent + 2_000) late += 1;
    }
    expect(stale).toBeGreaterThan(5);
    expect(late).toBeGreaterThan(5);
  });

  it("delay: leaves at once when the signal aborts, with its reason and no timer", async () => {
    for (const waited of [0, 1, 500, 3_000]) {
      const bench = only("delay", { longestDelay: 2 ** 31 - 1 });
      const controller = new AbortController();
      const call = bench.call(candlesPath, controller.signal);
      await new Promise((resolve) => setImmediate(resolve));
      bench.clock.schedule(() => controller.abort("enough"), waited);
      expect(await call).toEqual({ error: "enough" });
      expect(bench.clock.pending).toBe(0);
    }
  });

  it("hang: never an answer, or never a body, until the signal aborts", async () => {
    const bench = only("hang");
    for (const _ of times(10)) {
      const controller = new AbortController();
      const reason = new Error("left");
      bench.clock.schedule(() => controller.abort(reason), 45_000);
      const before = bench.clock.now();
      expect(await bench.call(candlesPath, controller.signal)).toEqual({ error: reason });
      expect(bench.clock.now() - before).toBeGreaterThanOrEqual(45_000);
    }
    expect(await bench.call()).toBeUndefined();
    expect(bench.faults).toHaveLength(11);
    // Only where the body hangs has the service been asked.
    expect(bench.reached.length).toBeGreaterThan(0);
    expect(bench.reached.length).toBeLessThan(11);
    expect(bench.clock.pending).toBe(0);
  });

  it("reset: rejects as fetch does, before the service was asked, after, and within the body", async () => {
    const bench = only("reset");
    let within = 0;
    for (const _ of times(30)) {
      const answer = bench.fetch(`http://service.test${candlesPath}`, { headers });
      const failure = await answer
        .then((answered) => {
          within += 1;
          return answered.text();
        })
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(TypeError);
      expect(failure).toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    }
    expect(bench.faults).toHaveLength(30);
    expect(within).toBeGreaterThan(3);
    expect(bench.reached.length).toBeGreaterThan(within + 3);
    expect(bench.reached.length).toBeLessThan(27);
  });
});

describe("answers in the service's place", () => {
  it.each([
    ["408", 408],
    ["425", 425],
  ] as const)("%s: the status and a message", async (kind, status) => {
    const bench = only(kind);
    for (const answer of await answersOf(bench, kind, 5)) {
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toEqual({ message: expect.any(String), statusCode: status });
      expect(answer.header("retry-after")).toBeNull();
      expect(answer.date).toBe((await bench.truth()).date);
      expect(answer.header("x-request-weight")).toBe("150");
    }
  });

  it("429: with a hint in seconds, as a date, and without", async () => {
    const hints = { none: 0, seconds: 0, date: 0 };
    for (const answer of await answersOf(only("429"), "429", 60)) {
      expect(answer.status).toBe(429);
      const hint = answer.header("Retry-After");
      if (hint === null) hints.none += 1;
      else if (/^[1-8]$/.test(hint)) hints.seconds += 1;
      else {
        hints.date += 1;
        const wait = (Date.parse(hint) - Date.parse(answer.date!)) / 1_000;
        expect(times(8).map((at) => at + 1)).toContain(wait);
      }
    }
    for (const count of Object.values(hints)) expect(count).toBeGreaterThan(8);
  });

  it("5xx: each of four, 503 with a hint or without, proxies with HTML", async () => {
    const seen = new Set<string>();
    for (const { status, text, header } of await answersOf(only("5xx"), "5xx", 80)) {
      const type = header("content-type")!.split(";")[0];
      seen.add(`${status} ${type} ${header("retry-after") === null ? "no hint" : "hint"}`);
      if (type === "text/html") expect(text).toContain("<html>");
      else expect(JSON.parse(text)).toMatchObject({ statusCode: status });
    }
    expect([...seen].sort()).toEqual([
      "500 application/json no hint",
      "502 text/html no hint",
      "503 application/json hint",
      "503 application/json no hint",
      "504 text/html no hint",
    ]);
  });

  it("html: status 200, and no JSON", async () => {
    for (const answer of await answersOf(only("html"), "html", 5)) {
      expect(answer.status).toBe(200);
      expect(answer.header("content-type")).toContain("text/html");
      expect(() => JSON.parse(answer.text)).toThrow();
    }
  });

  it("null: status 200, and the body null", async () => {
    for (const answer of await answersOf(only("null"), "null", 5)) {
      expect(answer).toMatchObject({ status: 200, text: "null" });
      expect(answer.header("content-type")).toContain("application/json");
    }
  });

  it("errorBody: status 200, and a message in place of the answer", async () => {
    for (const path of [candlesPath, snipersPath]) {
      const [answer] = await answersOf(only("errorBody"), "errorBody", 1, path);
      expect(answer).toMatchObject({ status: 200, text: '{"message":"upstream timed out"}' });
      expect(answer!.header("content-type")).toContain("application/json");
    }
  });

  it("nested: status 200, and 20,000 lists that are opened and never closed", async () => {
    const [answer] = await answersOf(only("nested"), "nested", 1);
    expect(answer!.status).toBe(200);
    expect(answer!.text).toMatch(/^\[+$/);
    expect(answer!.text).toHaveLength(20_000);
  });
});

/** What a candle must be, written down again. */
function isCandle(row: unknown): boolean {
  if (typeof row !== "object" || row === null) return false;
  const { timestamp, open, high, low, close, volume, swaps } = row as Record<string, unknown>;
  const isPrice = (value: unknown) => typeof value === "number" && value >= 0 && value <= 1e100;
  return (
    typeof timestamp === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/.test(timestamp) &&
    new Date(timestamp).toISOString() === timestamp &&
    [open, high, low, close, volume].every(isPrice) &&
    (high as number) >= (low as number) &&
    Number.isInteger(swaps)
  );
}

function isSniper(row: unknown): boolean {
  if (typeof row !== "object" || row === null) return false;
  const { walletAddress, snipedTransactions, sellTransactions, totalSoldUsd } = row as Record<
    string,
    unknown
  >;
  const isList = (list: unknown) =>
    Array.isArray(list) &&
    list.every(
      ({ transactionHash, transactionTimestamp }) =>
        typeof transactionHash === "string" && !Number.isNaN(Date.parse(transactionTimestamp)),
    );
  return (
    typeof walletAddress === "string" &&
    walletAddress !== "" &&
    isList(snipedTransactions) &&
    isList(sellTransactions) &&
    typeof totalSoldUsd === "number"
  );
}

describe("faults of the body", () => {
  it("empty: no rows and no cursor, all else as it was", async () => {
    const bench = only("empty");
    const paged = `${candlesPath.replace("limit=20", "limit=5")}`;
    const { cursor, ...truth } = JSON.parse((await bench.truth(paged)).text);
    expect(cursor).toEqual(expect.any(String));
    const [answer] = await answersOf(bench, "empty", 1, paged);
    expect(JSON.parse(answer!.text)).toEqual({ ...truth, result: [] });
    const report = JSON.parse((await bench.answer(snipersPath)).text);
    expect(report).toMatchObject({ blockNumber: expect.any(Number), result: [] });
  });

  it.each([candlesPath, snipersPath])(
    "dropped: some rows missing, the others as they were (%s)",
    async (path) => {
      const bench = only("dropped");
      const rows = rowsOf(await bench.truth(path));
      let missing = 0;
      for (const answer of await answersOf(bench, "dropped", 30, path)) {
        const left = rowsOf(answer);
        const names = new Set(left.map((row) => JSON.stringify(row)));
        expect(left.length).toBeLessThan(rows.length);
        expect(left).toEqual(rows.filter((row) => names.has(JSON.stringify(row))));
        missing += rows.length - left.length;
      }
      expect(missing / 30 / rows.length).toBeGreaterThan(0.15);
      expect(missing / 30 / rows.length).toBeLessThan(0.6);
    },
  );

  it.each([candlesPath, snipersPath])("duplicated: some rows twice, none missing (%s)", async (path) => {
    const bench = only("duplicated");
    const rows = rowsOf(await bench.truth(path));
    for (const answer of await answersOf(bench, "duplicated", 30, path)) {
      const all = rowsOf(answer).map((row) => JSON.stringify(row));
      expect(all.length).toBeGreaterThan(rows.length);
      expect(new Set(all)).toEqual(new Set(rows.map((row) => JSON.stringify(row))));
    }
  });

  it("shuffled: the same rows in another order", async () => {
    const bench = only("shuffled");
    const rows = rowsOf(await bench.truth());
    const orders = new Set<string>();
    for (const answer of await answersOf(bench, "shuffled", 10)) {
      expect(rowsOf(answer)).not.toEqual(rows);
      expect(rowsOf(answer).sort((a, b) => (a.timestamp! < b.timestamp! ? 1 : -1))).toEqual(rows);
      orders.add(answer.text);
    }
    expect(orders.size).toBe(10);
  });

  it.each([
    ["candles", candlesPath, isCandle],
    ["snipers", snipersPath, isSniper],
  ] as const)("broken: some %s break the contract, the others are as they were", async (_, path, isGood) => {
    const bench = only("broken");
    const rows = rowsOf(await bench.truth(path));
    expect(rows.every(isGood)).toBe(true);
    const ways = new Set<string>();
    for (const answer of await answersOf(bench, "broken", 120, path)) {
      const after = rowsOf(answer);
      expect(after).toHaveLength(rows.length);
      let broken = 0;
      after.forEach((row, at) => {
        if (JSON.stringify(row) === JSON.stringify(rows[at])) return;
        expect(row).not.toSatisfy(isGood);
        broken += 1;
        const names = Object.keys({ ...rows[at], ...row });
        const changed = names.filter(
          (name) => JSON.stringify(row?.[name]) !== JSON.stringify(rows[at]![name]),
        );
        for (const value of Object.values(row ?? {})) if (Number(value) > 1e100) ways.add(String(value));
        ways.add(row === null ? "null" : changed.map((name) => `${name} ${typeof row[name]}`).join());
      });
      expect(broken).toBeGreaterThan(0);
    }
    const wanted =
      path === candlesPath
        ? [
            "null",
            "timestamp string",
            "timestamp undefined",
            "open string",
            "close object",
            "low number",
            "open number",
            "volume number",
            "1e+101",
            "1e+308",
            "volume undefined",
            "swaps undefined",
            "swaps number",
          ]
        : [
            "null",
            "walletAddress undefined",
            "walletAddress string",
            "totalSoldUsd string",
            "sellTransactions object",
          ];
    for (const way of wanted) expect([...ways]).toContain(way);
  });

  it("cutOff: a beginning of the answer, of any length, that is no JSON", async () => {
    const bench = only("cutOff");
    const { text: truth } = await bench.truth();
    const lengths: number[] = [];
    for (const { text, status } of await answersOf(bench, "cutOff", 40)) {
      expect(status).toBe(200);
      expect(truth.startsWith(text)).toBe(true);
      expect(() => JSON.parse(text)).toThrow();
      lengths.push(text.length / truth.length);
    }
    expect(Math.min(...lengths)).toBeLessThan(0.2);
    expect(Math.max(...lengths)).toBeGreaterThan(0.8);
  });

  it("leaves answers alone that are not 200, have no rows, or are no JSON", async () => {
    const from = FAULT_KINDS.indexOf("empty");
    const kinds = FAULT_KINDS.slice(from, FAULT_KINDS.indexOf("cutOff") + 1);
    expect(kinds).toHaveLength(12);
    const rates = Object.fromEntries(kinds.map((kind) => [kind, 1]));
    const bench = new Bench({ rates });
    const unknown = "/token/mainnet/pairs/unknown/snipers";
    expect(await bench.answer(unknown)).toMatchObject(await bench.truth(unknown));
    expect(bench.faults).toEqual([]);
    for (const body of ["<html></html>", "null", "12", '"text"', ""]) {
      const answer = { status: 200, headers: { get: () => null }, text: async () => body };
      const fetch = withFaults(async () => answer, { seed: 1, rates });
      expect(await (await fetch("http://service.test/")).text()).toBe(body);
    }
    const empty = ohlcv(address, { timeframe: "1min", currency: "usd", fromDate: 0, toDate: 60 });
    const rowsOnly = new Bench({ rates: { dropped: 1, broken: 1, duplicated: 1, shuffled: 1 } });
    expect(await rowsOnly.answer(empty)).toMatchObject(await rowsOnly.truth(empty));
    expect(rowsOnly.faults).toEqual([]);
  });

  it("combine on one answer", async () => {
    const bench = new Bench({ rates: { dropped: 1, broken: 1, duplicated: 1, shuffled: 1, noDate: 1 } });
    const rows = rowsOf(await bench.truth());
    const answer = await bench.answer();
    expect(rowsOf(answer)).not.toEqual(rows);
    expect(answer.date).toBeNull();
    expect(bench.faults.map(({ kind }) => kind).sort()).toEqual(
      ["broken", "dropped", "duplicated", "noDate", "shuffled"].sort(),
    );
  });
});
