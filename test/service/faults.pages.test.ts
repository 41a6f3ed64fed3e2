import { FAULT_KINDS, type FaultKind, withFaults } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { address, answersOf, Bench, candlesPath, only, snipersPath, start, times } from "./fault-bench.js";
import { ohlcv } from "./harness.js";

interface Page {
  cursor?: string | null;
  page: number;
  result: unknown[];
}

/** A walk of six pages; `candlesPath` is one of two. */
const pagedPath = candlesPath.replace("limit=20", "limit=5");
const wholePath = candlesPath.replace("limit=20", "limit=100");
const silentPath = ohlcv(address, { timeframe: "1min", currency: "usd", fromDate: 0, toDate: 60 });
const pageOf = ({ text }: { text: string }): Page => JSON.parse(text);
const following = (path: string, { cursor }: Page) => `${path}&cursor=${encodeURIComponent(cursor!)}`;
const isMadeUp = (cursor: unknown) => typeof cursor === "string" && cursor.startsWith("withFaults.");

/** Follows the cursors for so many pages at most. */
async function walk(bench: Bench, path: string, most: number): Promise<Page[]> {
  const pages: Page[] = [];
  let next = path;
  while (pages.length < most) {
    const page = pageOf(await bench.answer(next));
    pages.push(page);
    if (!page.cursor) break;
    next = following(path, page);
  }
  return pages;
}

describe("the pages that the faults are tried on", () => {
  it("are many, one, and one without rows", async () => {
    expect((await walk(new Bench({ rates: {} }), pagedPath, 20)).length).toBeGreaterThan(4);
    for (const [path, isEmpty] of [
      [wholePath, false],
      [silentPath, true],
    ] as const) {
      const page = pageOf(await new Bench({ rates: {} }).truth(path));
      expect([page.cursor, page.result.length === 0]).toEqual([null, isEmpty]);
    }
  });
});

describe("emptyPage", () => {
  it("takes the rows and keeps the cursor", async () => {
    const bench = only("emptyPage");
    const truth = pageOf(await bench.truth(pagedPath));
    expect(truth.cursor).toMatch(/./);
    const [answer] = await answersOf(bench, "emptyPage", 1, pagedPath);
    expect(pageOf(answer!)).toEqual({ ...truth, result: [] });
    const second = following(pagedPath, truth);
    const { cursor } = pageOf(await bench.truth(second));
    expect(pageOf(await bench.answer(second))).toMatchObject({ cursor, result: [] });
  });

  it("makes a cursor up where there is none, on an empty page too, and another one when that is followed", async () => {
    for (const path of [wholePath, silentPath]) {
      const bench = only("emptyPage");
      const pages = await walk(bench, path, 4);
      expect(pages.every(({ cursor, result }) => isMadeUp(cursor) && result.length === 0)).toBe(true);
      expect(new Set(pages.map(({ cursor }) => cursor)).size).toBe(4);
      expect(bench.faults).toHaveLength(4);
    }
  });
});

describe("cutShort", () => {
  it("loses the last rows as served, and never all of them", async () => {
    for (const path of [wholePath, snipersPath]) {
      const bench = only("cutShort");
      const truth = pageOf(await bench.truth(path)).result;
      const lengths = new Set<number>();
      for (const answer of await answersOf(bench, "cutShort", 60, path)) {
        const { cursor, result } = pageOf(answer);
        expect(cursor ?? null).toBeNull();
        expect(result.length).toBeGreaterThan(0);
        expect(result.length).toBeLessThan(truth.length);
        expect(result).toEqual(truth.slice(0, result.length));
        lengths.add(result.length);
      }
      expect(lengths.size).toBeGreaterThan(1);
    }
  });

  it("loses the cursor, with some rows or with none", async () => {
    const bench = only("cutShort");
    const truth = pageOf(await bench.truth(pagedPath)).result;
    let whole = 0;
    for (const answer of await answersOf(bench, "cutShort", 60, pagedPath)) {
      const page = pageOf(answer);
      expect(page).not.toHaveProperty("cursor");
      expect(page.result).toEqual(truth.slice(0, page.result.length));
      if (page.result.length === truth.length) whole += 1;
    }
    expect(whole).toBeGreaterThan(15);
    expect(whole).toBeLessThan(45);
  });

  it("leaves a page alone that has nothing to lose", async () => {
    const single = ohlcv(address, {
      timeframe: "1min",
      currency: "usd",
      fromDate: Math.floor(start / 60_000) * 60 - 60,
      toDate: Math.floor(start / 60_000) * 60,
    });
    expect(pageOf(await new Bench({}).truth(single)).result).toHaveLength(1);
    for (const path of [single, silentPath]) {
      const bench = only("cutShort");
      for (const _ of times(10)) expect((await bench.answer(path)).text).toBe((await bench.truth(path)).text);
      expect(bench.faults).toEqual([]);
    }
  });
});

describe("dripping", () => {
  it("gives row after row, and a new cursor without end", async () => {
    const bench = only("dripping");
    const { result } = pageOf(await bench.truth(pagedPath));
    const pages = await walk(bench, pagedPath, 23);
    expect(pages.map((page) => page.result)).toEqual(times(23).map((at) => [result[at % result.length]]));
    expect(new Set(pages.map(({ cursor }) => cursor)).size).toBe(23);
    expect(pages.every(({ cursor }) => isMadeUp(cursor))).toBe(true);
    expect(bench.faults).toHaveLength(23);
  });

  it("ends when it does not befall the call any more: the first page is given", async () => {
    const bench = only("dripping", { until: start + 1 });
    const page = pageOf(await bench.answer(pagedPath));
    await bench.clock.advanceBy(1);
    expect((await bench.answer(following(pagedPath, page))).text).toBe((await bench.truth(pagedPath)).text);
  });

  it("leaves a page without rows alone", async () => {
    const bench = only("dripping");
    expect((await bench.answer(silentPath)).text).toBe((await bench.truth(silentPath)).text);
    expect(bench.faults).toEqual([]);
  });
});

describe("loopingCursor", () => {
  it("leads to the same answer again on a first page, whether it has a next one or not", async () => {
    for (const path of [pagedPath, wholePath, silentPath]) {
      const bench = only("loopingCursor");
      const { result } = pageOf(await bench.truth(path));
      const pages = await walk(bench, path, 6);
      expect(pages).toHaveLength(6);
      for (const page of pages) expect(page.result).toEqual(result);
      expect(new Set(pages.slice(1).map(({ cursor }) => cursor)).size).toBe(1);
    }
  });

  it("leads to this very page or to the first one, from wherever it befalls", async () => {
    for (const depth of [1, 2]) {
      const bench = only("loopingCursor");
      let path = pagedPath;
      for (const _ of times(depth)) path = following(pagedPath, pageOf(await bench.truth(path)));
      const own = new URL(path, "http://service.test").searchParams.get("cursor");
      const { result } = pageOf(await bench.truth(path));
      const cursors = new Set<unknown>();
      for (const answer of await answersOf(bench, "loopingCursor", 20, path)) {
        expect(pageOf(answer).result).toEqual(result);
        cursors.add(pageOf(answer).cursor);
      }
      expect([...cursors].filter((cursor) => !isMadeUp(cursor))).toEqual([own]);
      const [toFirst] = [...cursors].filter(isMadeUp);
      const healthy = new Bench({ rates: {} });
      const led = await healthy.answer(following(pagedPath, { cursor: toFirst } as Page));
      expect(led.text).toBe((await healthy.truth(pagedPath)).text);
    }
  });
});

describe("longCursor", () => {
  it("is of 5,000 to 20,000 characters, another one each time, and keeps the rows", async () => {
    const bench = only("longCursor");
    const { result } = pageOf(await bench.truth(pagedPath));
    const pages = await walk(bench, pagedPath, 30);
    const lengths = pages.map(({ cursor }) => cursor!.length);
    expect(pages).toHaveLength(30);
    for (const page of pages) expect(page.result).toEqual(result);
    expect(new Set(pages.map(({ cursor }) => cursor)).size).toBe(30);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(5_000);
    expect(Math.min(...lengths)).toBeLessThan(8_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(20_000);
    expect(Math.max(...lengths)).toBeGreaterThan(17_000);
    expect(pageOf(await only("longCursor").answer(wholePath)).cursor!.length).toBeGreaterThanOrEqual(5_000);
  });
});

describe("flood", () => {
  it.each([pagedPath, silentPath, snipersPath])(
    "adds 25,000 rows 0, all else as it was (%s)",
    async (path) => {
      const bench = only("flood");
      const truth = pageOf(await bench.truth(path));
      for (const answer of await answersOf(bench, "flood", 2, path)) {
        expect(pageOf(answer)).toEqual({
          ...truth,
          result: [...truth.result, ...times(25_000).map(() => 0)],
        });
      }
    },
  );
});

describe("made-up cursors", () => {
  const ofCursors = ["emptyPage", "dripping", "loopingCursor", "longCursor"] as const;

  it("are given to no sniper report, which has no pages", async () => {
    const bench = new Bench({ rates: Object.fromEntries(ofCursors.map((kind) => [kind, 1])) });
    expect((await bench.answer(snipersPath)).text).toBe((await bench.truth(snipersPath)).text);
    expect(bench.faults).toEqual([]);
  });

  it("never reach the service, whatever befalls the calls that carry one", async () => {
    const kinds = FAULT_KINDS.filter((kind) => kind !== "hang" && kind !== "delay");
    for (const seed of times(6)) {
      const rateOf = (kind: FaultKind) => ((ofCursors as readonly FaultKind[]).includes(kind) ? 0.2 : 0.03);
      const rates = Object.fromEntries(kinds.map((kind) => [kind, rateOf(kind)]));
      const bench = new Bench({ seed, rates });
      let carried = 0;
      let path = pagedPath;
      for (const _ of times(150)) {
        if (path.includes("withFaults.")) carried += 1;
        const outcome = await bench.call(path);
        let page: Partial<Page> = {};
        try {
          page = JSON.parse((outcome as { text: string }).text) ?? {};
        } catch {}
        path = page.cursor ? following(pagedPath, page as Page) : pagedPath;
      }
      expect(carried).toBeGreaterThan(10);
      expect(bench.reached.some((url) => url.includes("cursor="))).toBe(true);
      expect(bench.reached.filter((url) => url.includes("withFaults"))).toEqual([]);
    }
  });

  it.each([
    ["?cursor=withFaults.1", ""],
    ["?cursor=withFaults.1&limit=5", "?limit=5"],
    ["?limit=5&cursor=withFaults.12-long-lo", "?limit=5"],
    ["?limit=5&cursor=withFaults.1&to=7#part", "?limit=5&to=7#part"],
    ["?limit=5&cursor=withFaults.1#part", "?limit=5#part"],
    ["?cursor=WzE3MDk&to=%2B7", "?cursor=WzE3MDk&to=%2B7"],
    ["?after=withFaults.1&subcursor=withFaults.1", "?after=withFaults.1&subcursor=withFaults.1"],
    ["", ""],
  ])("are taken off, and the rest is asked for as it was: %s", async (query, asked) => {
    const urls: string[] = [];
    const fetch = withFaults(
      async (url) => {
        urls.push(url);
        return { status: 200, headers: { get: () => null }, text: async () => "{}" };
      },
      { seed: 1, rates: {} },
    );
    await fetch(`http://service.test/pages${query}`);
    expect(urls).toEqual([`http://service.test/pages${asked}`]);
  });
});
