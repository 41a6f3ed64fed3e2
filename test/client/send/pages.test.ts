import { describe, expect, it } from "vitest";
import type { OhlcvPage } from "../../../src/contract/model.js";
import { ContractError } from "../../../src/errors.js";
import {
  failure,
  fakeClient,
  PAIR,
  pageBody,
  QUERY,
  REPORT,
  type Reply,
  row,
  START,
  settled,
} from "../fake-service.js";

const MINUTE = 60_000;

async function collect(pages: AsyncIterable<OhlcvPage>): Promise<OhlcvPage[]> {
  const all: OhlcvPage[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

describe("ohlcvPage", () => {
  it("asks for whole seconds around the range, and cuts what lies outside it", async () => {
    const times = [START, START - MINUTE, START - 3 * MINUTE, START - 2 * MINUTE, START - 4 * MINUTE];
    const { client, calls, clock } = fakeClient(() => ({ body: pageBody(times.map((time) => row(time))) }));
    const query = { ...QUERY, fromDate: START - 3 * MINUTE - 500, toDate: START - 1, limit: 5 };
    const page = await settled(clock, client.ohlcvPage(query));
    expect(page.result.map(({ timestamp }) => timestamp)).toEqual([
      START - MINUTE,
      START - 3 * MINUTE,
      START - 2 * MINUTE,
    ]);
    expect(Object.isFrozen(page) && Object.isFrozen(page.result) && Object.isFrozen(page.result[0])).toBe(
      true,
    );
    const { pathname, searchParams } = new URL(calls[0]!.url);
    expect(pathname).toBe(`/token/mainnet/pairs/${PAIR}/ohlcv`);
    expect(Object.fromEntries(searchParams)).toEqual({
      timeframe: "1min",
      currency: "usd",
      fromDate: String(START / 1_000 - 181),
      toDate: String(START / 1_000),
      limit: "5",
    });
    expect(calls[0]!.headers).toEqual({ accept: "application/json", "X-API-Key": "the-secret-key" });
    expect(calls[0]!.redirect).toBe("manual");
  });

  it("gives the cursor on, and leads to its page", async () => {
    const { client, calls, clock } = fakeClient(() => ({ body: pageBody([], { cursor: "c2", page: "2" }) }));
    const page = await settled(clock, client.ohlcvPage({ ...QUERY, cursor: "c 1/&" }));
    expect(new URL(calls[0]!.url).searchParams.get("cursor")).toBe("c 1/&");
    expect(page).toMatchObject({ cursor: "c2", page: 2, result: [] });
  });

  it("fails with the first row that breaks the contract, after the retries", async () => {
    const { client, calls, clock } = fakeClient(() => ({
      body: pageBody([row(START - MINUTE), row(START - 2 * MINUTE, { open: "one" }), row(START - 90_000)]),
    }));
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(error).toBeInstanceOf(ContractError);
    expect((error as ContractError).path).toEqual(["result", 1, "open"]);
    expect(calls).toHaveLength(3);
  });

  it("takes weeks that begin on Monday or on Thursday, and no others", async () => {
    const thursday = Date.UTC(2024, 0, 4);
    const ask = async (start: number) => {
      const { client, clock } = fakeClient(() => ({ body: pageBody([row(start)], { timeframe: "1w" }) }), {
        retry: false,
      });
      const query = { ...QUERY, timeframe: "1w", fromDate: 0, toDate: START * 2 } as const;
      return (await settled(clock, client.ohlcvPage(query))).result.length;
    };
    expect(await ask(thursday)).toBe(1);
    expect(await ask(thursday + 4 * 86_400_000)).toBe(1);
    await expect(ask(thursday + 86_400_000)).rejects.toThrow(ContractError);
  });
});

describe("sniperReport", () => {
  it("asks for the report of a pair", async () => {
    const { client, calls, clock } = fakeClient(() => ({ body: REPORT }));
    const report = await settled(
      clock,
      client.sniperReport({ pairAddress: PAIR, blocksAfterCreation: 1_000 }),
    );
    expect(report).toMatchObject({
      blockNumber: 7,
      result: [{ walletAddress: "w", snipedTransactions: [] }],
    });
    expect(calls[0]!.url).toBe(
      `https://service.test/token/mainnet/pairs/${PAIR}/snipers?blocksAfterCreation=1000`,
    );
  });

  it("fails with a row that breaks the contract", async () => {
    const body = JSON.stringify({ result: [{ walletAddress: "w", totalSoldUsd: "much" }] });
    const { client, clock } = fakeClient(() => ({ body }), { retry: false });
    const error = await failure(settled(clock, client.sniperReport({ pairAddress: PAIR })));
    expect((error as ContractError).path).toEqual(["result", 0, "totalSoldUsd"]);
  });
});

describe("ohlcvPages", () => {
  /** A service that answers with one page after another, by its own counting. */
  const walk = async (
    cursors: (string | null | undefined)[],
    rows: (index: number) => unknown[],
    query = {},
  ) => {
    const { client, calls, clock } = fakeClient((_, index) => ({
      body: pageBody(rows(index), { cursor: cursors[index], page: index + 1 }),
    }));
    const pages = await settled(clock, collect(client.ohlcvPages({ ...QUERY, ...query })));
    const asked = calls.map(({ url }) => Object.fromEntries(new URL(url).searchParams));
    expect(clock.pending).toBe(0);
    return { pages, asked };
  };
  const oneRow = (index: number) => [row(START - (index + 1) * MINUTE)];

  it("follows the cursor, the limit said once and the rest each time", async () => {
    const { pages, asked } = await walk(["a", "b", null], oneRow, { limit: 1 });
    const rest = {
      timeframe: "1min",
      currency: "usd",
      fromDate: String(QUERY.fromDate / 1_000),
      toDate: String(QUERY.toDate / 1_000),
    };
    expect(asked).toEqual([
      { ...rest, limit: "1" },
      { ...rest, cursor: "a" },
      { ...rest, cursor: "b" },
    ]);
    expect(pages.map(({ cursor }) => cursor)).toEqual(["a", "b", undefined]);
    expect(pages.map(({ result }) => result.length)).toEqual([1, 1, 1]);
    expect("cursor" in pages[2]!).toBe(false);
  });

  it.each([[null], [undefined], [""]])("ends at the cursor %o", async (cursor) => {
    const { pages, asked } = await walk([cursor, "never"], oneRow);
    expect(asked).toHaveLength(1);
    expect("cursor" in pages[0]!).toBe(false);
  });

  describe("a cursor that leads nowhere", () => {
    const minutes = (...indices: number[]) => indices.map((index) => row(START - (index + 1) * MINUTE));
    /** The pages given before the walk failed, what was asked, and the error. */
    const broken = async (bodies: string[], query = {}) => {
      const { client, calls, clock } = fakeClient((_, index) => ({ body: bodies[index] ?? bodies.at(-1)! }));
      const pages: OhlcvPage[] = [];
      const walk = async () => {
        for await (const page of client.ohlcvPages({ ...QUERY, ...query })) pages.push(page);
      };
      const error = await failure(settled(clock, walk()));
      expect(clock.pending).toBe(0);
      return {
        pages: pages.length,
        asked: calls.map(({ url }) => new URL(url).searchParams.get("cursor")),
        error,
      };
    };

    it.each([
      [
        "from a page without rows",
        [
          ["a", minutes(0)],
          ["b", []],
        ],
        1,
      ],
      ["from a first page without rows", [["a", []]], 0],
      [
        "to the page itself",
        [
          ["a", minutes(0)],
          ["a", minutes(1)],
        ],
        1,
      ],
      [
        "to the page before",
        [
          ["a", minutes(0)],
          ["b", minutes(1)],
          ["a", minutes(2)],
        ],
        2,
      ],
      [
        "to rows that were read",
        [
          ["a", minutes(0, 1)],
          ["b", minutes(2, 3)],
          ["c", minutes(1, 2)],
        ],
        2,
      ],
      [
        "to the one that it began with",
        [
          ["a", minutes(0)],
          ["first", minutes(1)],
        ],
        1,
        { cursor: "first" },
      ],
    ] as const)("%s is asked for again, and fails", async (_, told, good, query: object = {}) => {
      const bodies = told.map(([cursor, rows]) => pageBody([...rows], { cursor }));
      const { pages, asked, error } = await broken(bodies, query);
      expect(error).toBeInstanceOf(ContractError);
      expect((error as ContractError).path).toEqual(["cursor"]);
      expect(pages).toBe(good);
      // The client's three attempts are made for the page at fault.
      expect(asked).toHaveLength(good + 3);
      expect(new Set(asked.slice(good)).size).toBe(1);
    });

    it("is no longer one when the page is answered well", async () => {
      const bodies = [
        pageBody(minutes(0), { cursor: "a" }),
        pageBody([], { cursor: "b" }),
        pageBody(minutes(1), { cursor: null }),
      ];
      const { client, clock } = fakeClient((_, index) => ({ body: bodies[index]! }));
      const pages = await settled(clock, collect(client.ohlcvPages(QUERY)));
      expect(pages.map(({ result }) => result.length)).toEqual([1, 1]);
    });

    it.each([
      ["begins with an interval", 0, 9],
      ["cuts one", MINUTE / 2, 10],
    ])(
      "ends after as many pages as a range can fill that %s, each with a row and a cursor of its own",
      async (_, before, most) => {
        const range = { fromDate: START - 7 * MINUTE - before, toDate: START };
        const bodies = Array.from({ length: 300 }, (_, index) =>
          pageBody(minutes(index), { cursor: `c${index}` }),
        );
        const { asked, error } = await broken(bodies, range);
        expect((error as ContractError).issue).toBe(
          `leads on after ${most} pages, more than the range can hold`,
        );
        expect(asked).toHaveLength(most + 2);
      },
    );
  });

  it("goes on past a page whose rows all lie outside the range", async () => {
    const { pages } = await walk(["a", null], (index) => (index === 0 ? [row(START)] : oneRow(index)));
    expect(pages.map(({ result }) => result.length)).toEqual([0, 1]);
  });

  it("asks for a page only when it is wanted, and again for every loop", async () => {
    const { client, calls, clock } = fakeClient((_, index) => ({
      body: pageBody(oneRow(index), { cursor: `c${index}` }),
    }));
    const pages = client.ohlcvPages(QUERY);
    expect(calls).toHaveLength(0);
    const once = async () => {
      for await (const page of pages) return page;
      return undefined;
    };
    expect(await settled(clock, once())).toMatchObject({ cursor: "c0" });
    expect(await settled(clock, once())).toMatchObject({ cursor: "c1" });
    expect(calls).toHaveLength(2);
    expect(calls.every(({ signal }) => !signal.aborted)).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("aborts what is running when it is left meanwhile", async () => {
    const { client, calls, clock } = fakeClient(() => ({ after: 1_000 }));
    const iterator = client.ohlcvPages(QUERY)[Symbol.asyncIterator]();
    const first = iterator.next();
    await clock.advanceBy(10);
    const left = iterator.return!();
    await clock.advanceBy(0);
    expect(await first).toEqual({ done: true, value: undefined });
    expect(await left).toEqual({ done: true, value: undefined });
    expect(calls[0]!.signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("throws the signal's reason, under way and between two pages", async () => {
    const reply: Reply = { after: 1_000, body: pageBody(oneRow(0), { cursor: "a" }) };
    const { client, calls, clock } = fakeClient(() => reply);
    const controller = new AbortController();
    const iterator = client.ohlcvPages(QUERY, { signal: controller.signal })[Symbol.asyncIterator]();
    const other = client.ohlcvPages(QUERY, { signal: controller.signal })[Symbol.asyncIterator]();
    await settled(clock, iterator.next());
    const underWay = other.next();
    await clock.advanceBy(10);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(underWay).rejects.toBe(reason);
    await expect(iterator.next()).rejects.toBe(reason);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(calls).toHaveLength(2);
    expect(calls[0]!.signal.aborted).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it("throws what a page fails with, once", async () => {
    const { client, clock } = fakeClient(() => ({ status: 404, body: "" }));
    const iterator = client.ohlcvPages(QUERY)[Symbol.asyncIterator]();
    await expect(settled(clock, iterator.next())).rejects.toMatchObject({ status: 404 });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
});
