import { concat, NEVER, of } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  applySniperEvent,
  emptyReport,
  InvalidInputError,
  type SniperEvent,
  type SniperLook,
  type SniperReport,
  type SniperWatch,
  sniperTrades,
  summarizeSnipers,
  watchFeedStatus,
  watchSniperReport,
  watchSnipers,
} from "../../src/index.js";
import { at, PAIR, World, withRows } from "../world.js";
import { rowOf, snipedWorld, walletAddressOf, walletOf } from "./wallets.js";

function looksAt(world: World, options: Partial<SniperWatch> = {}) {
  const looks: SniperLook[] = [];
  const subscription = watchSniperReport(world.client, { pairAddress: PAIR, ...options }).subscribe((look) =>
    looks.push(look),
  );
  return { looks, subscription };
}

const brief = ({ initial, trades }: SniperLook) => [
  ...(initial ? ["first"] : []),
  ...trades.map(({ kind, walletAddress, side, lookUsd }) => `${walletAddress} ${kind} ${side} ${lookUsd}`),
];

const kept = (look: SniperLook): SniperLook => JSON.parse(JSON.stringify(look));

describe("watchSniperReport", () => {
  it("tells the first look, then each that changed something, with its trades and what they amount to", async () => {
    const world = snipedWorld();
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:05:00"));
    expect(looks.map(brief)).toEqual([
      ["first", "a made snipe 40", "a made sell 10"],
      ["b made snipe 20", "b made sell 10"],
      ["a made sell 10"],
    ]);
    expect(looks[0]!.report).toMatchObject({ blockTimestamp: at("11:00:00"), transactionHash: "hash-0" });
    expect(looks[0]).not.toHaveProperty("blocksAfterCreation");
    let report: SniperReport = emptyReport;
    for (const look of looks) {
      report = look.events.reduce(applySniperEvent, report);
      expect(report.result).toEqual(look.report.result);
      for (const part of [look, look.report, look.report.result, look.events, look.trades, ...look.trades])
        expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("tells a first look without wallets, too", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swap(at("12:00:00"), 1);
    const { looks } = looksAt(world, { blocksAfterCreation: 1 });
    await world.clock.advanceTo(at("12:05:00"));
    expect(looks).toMatchObject([{ initial: true, trades: [], events: [], blocksAfterCreation: 1 }]);
  });

  it("costs no request beside watchSnipers, a second subscriber and a summary, and gives a late one a look at once", async () => {
    const world = snipedWorld();
    const first = looksAt(world);
    const events = watchSnipers(world.client, { pairAddress: PAIR }).subscribe();
    await world.clock.advanceTo(at("12:01:30"));
    const late = looksAt(world);
    expect(late.looks).toEqual([{ ...first.looks[1], ...late.looks[0], report: first.looks[1]!.report }]);
    expect(late.looks[0]).toMatchObject({ initial: true, trades: [{}, {}, {}, {}] });
    summarizeSnipers(late.looks[0]!.report);
    await world.clock.advanceTo(at("13:00:09"));
    expect(world.asked).toHaveLength(60);
    for (const one of [first.subscription, late.subscription, events]) one.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("tells of a change of the pair's own block alone", async () => {
    const world = snipedWorld();
    world.interfere = async (_asked, answer) => {
      const { text, ...rest } = await answer();
      const body = { ...JSON.parse(await text()), blockNumber: null };
      return { ...rest, text: async () => JSON.stringify(body) };
    };
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:00:30"));
    world.swaps.length = 3;
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:05:00"));
    expect(looks.map(({ report, events }) => [report.blockNumber === null, events.length])).toEqual([
      [true, 1],
      [false, 0],
    ]);
  });

  it("tells no trade again whose time or block reads otherwise, and shows it as it reads", async () => {
    const world = snipedWorld();
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:03:30"));
    const told = looks.length;
    const oddities = [
      ({ transactionTimestamp }: { transactionTimestamp: string }) => ({
        transactionTimestamp: transactionTimestamp.replace(/\.\d+/, ".001"),
      }),
      () => ({ blocksAfterCreation: null }),
      () => ({ blocksAfterCreation: 77 }),
      () => ({}),
    ];
    for (const odd of oddities) {
      world.interfere = (_asked, answer) =>
        withRows(answer, (rows) =>
          rows.map(({ sellTransactions, ...row }) => ({
            ...row,
            sellTransactions: (sellTransactions as { transactionTimestamp: string }[]).map((sale) => ({
              ...sale,
              ...odd(sale),
            })),
          })),
        );
      await world.clock.advanceBy(60_000);
    }
    expect(looks.length).toBeGreaterThan(told + 2);
    const types = looks.slice(told).flatMap(({ events }) => events.map(({ type }) => type));
    expect(types).toContain("transaction-removed");
    expect(looks.slice(told).flatMap(({ trades }) => trades)).toEqual([]);
  });

  it("keeps a wallet whole while one of its sales is in doubt, and tells all of it with the second report", async () => {
    const world = snipedWorld();
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:03:30"));
    // A fork: one sale of `a` goes, another one comes.
    world.swaps.splice(2, 1);
    world.swap(at("12:03:40"), 7, { walletAddress: "a", side: "sell", transactionHash: "new" });
    await world.clock.advanceTo(at("12:04:10.500"));
    const late = looksAt(world);
    expect(late.looks).toMatchObject([{ initial: true, report: looks[3]!.report }]);
    await world.clock.advanceTo(at("12:05:00"));
    expect(late.looks.slice(1)).toEqual(looks.slice(4));
    const [first, second] = looks.slice(3);
    // The swap has moved the price, and with it what `b` holds is worth. `a` is as it was: its sale is only in doubt.
    expect(first!.observedAt).toBe(at("12:04:10"));
    expect(first!.events).toMatchObject([
      { type: "wallet-updated", wallet: { walletAddress: "b" }, changed: ["currentBalanceUsdValue"] },
    ]);
    expect(first!.report.result[0]).toBe(looks[2]!.report.result[0]);
    // The second report was asked for a second after the first, a round trip later.
    expect(second!.observedAt).toBe(at("12:04:11.040"));
    expect(second!.trades).toMatchObject([
      { kind: "taken-back", transaction: { transactionHash: "hash-2" }, lookUsd: -3, lookTrades: 2 },
      { kind: "made", transaction: { transactionHash: "new" }, lookUsd: -3, lookTrades: 2 },
    ]);
    expect(looks).toHaveLength(5);
  });
});

describe("known", () => {
  it("goes on from a look that was kept: tells what changed since, as news, and nothing again", async () => {
    const before = snipedWorld();
    const { looks } = looksAt(before);
    await before.clock.advanceTo(at("12:00:30"));
    const world = snipedWorld();
    await world.clock.advanceTo(at("12:03:00"));
    const known = kept(looks[0]!);
    const events: SniperEvent[] = [];
    watchSnipers(world.client, { pairAddress: PAIR, known }).subscribe((event) => events.push(event));
    const after = looksAt(world, { known });
    await world.clock.advanceTo(at("12:05:00"));
    expect(after.looks.map(brief)).toEqual([["a made sell 10", "b made snipe 20", "b made sell 10"]]);
    expect(events.map((event) => `${event.type} ${walletAddressOf(event)} ${event.initial}`)).toEqual([
      "sold a false",
      "wallet-updated a false",
      "wallet-added b false",
    ]);
    expect(after.looks[0]!.events).toEqual(events);
  });

  it("tells a first look without events where nothing has changed", async () => {
    const world = snipedWorld();
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:00:30"));
    const again = looksAt(world, { known: kept(looks[0]!) });
    expect(again.looks).toEqual([{ ...looks[0], initial: false, events: [], trades: [] }]);
  });

  it("removes what is gone since once two reports lack it, not before", async () => {
    const world = snipedWorld();
    const known = { pairAddress: PAIR, report: { ...emptyReport, result: [walletOf("z")] } };
    const { looks } = looksAt(world, { known });
    await world.clock.advanceTo(at("12:01:00"));
    expect(looks.at(-1)!.report.result.map(({ walletAddress }) => walletAddress)).toEqual(["a", "z"]);
    await world.clock.advanceTo(at("12:01:30"));
    expect(looks.at(-1)!.events).toMatchObject([
      { type: "wallet-added" },
      { type: "wallet-removed", initial: false },
    ]);
    world.interfere = (_asked, answer) => withRows(answer, () => []);
    await world.clock.advanceTo(at("12:02:10.030"));
    expect(looks.at(-1)!.report.result).toHaveLength(2);
  });

  it("of four wallets takes nothing back while the service shows none, as after a start of its own", async () => {
    const world = snipedWorld();
    for (const wallet of ["c", "d"]) world.swap(at("11:00:00"), 10, { walletAddress: wallet, side: "buy" });
    for (const wallet of ["c", "d"]) world.swap(at("11:20:00"), 10, { walletAddress: wallet, side: "sell" });
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:01:30"));
    const known = kept(looks.at(-1)!);
    expect(known.report.result).toHaveLength(4);
    const other = snipedWorld();
    other.swaps.splice(0, other.swaps.length, ...world.swaps);
    other.interfere = (_asked, answer) => withRows(answer, () => []);
    const after = looksAt(other, { known });
    await other.clock.advanceTo(at("12:02:20"));
    other.interfere = () => undefined;
    await other.clock.advanceTo(at("12:04:30"));
    expect(after.looks.flatMap(({ events }) => events.map(({ type }) => type))).toEqual([
      "sold",
      "wallet-updated",
    ]);
  });

  it.each([
    ["another pair's list", (): object[] => ["x", "y"].map(rowOf)],
    ["no wallet", (): object[] => []],
  ])("of four wallets takes a first report for none that shows %s, and is stalled", async (_, rows) => {
    const world = snipedWorld();
    for (const wallet of ["c", "d"]) world.swap(at("11:00:00"), 10, { walletAddress: wallet, side: "buy" });
    for (const wallet of ["c", "d"]) world.swap(at("11:20:00"), 10, { walletAddress: wallet, side: "sell" });
    const { looks } = looksAt(world);
    await world.clock.advanceTo(at("12:01:30"));
    const other = snipedWorld();
    other.swaps.splice(0, other.swaps.length, ...world.swaps);
    await other.clock.advanceTo(at("12:01:30"));
    other.interfere = (_asked, answer) => withRows(answer, rows);
    const after = looksAt(other, { known: kept(looks.at(-1)!) });
    const states: string[] = [];
    watchFeedStatus(other.client, { pairAddress: PAIR }).subscribe(({ state, lastError }) =>
      states.push(`${state} ${lastError?.message ?? ""}`),
    );
    await other.clock.advanceTo(at("12:03:00"));
    expect(after.looks).toEqual([]);
    expect(states.filter((state) => state.startsWith("live"))).toEqual([]);
    expect(states.at(-1)).toMatch(/^stalled .*lacks all wallets that were there/);
    other.interfere = () => undefined;
    await other.clock.advanceTo(at("12:04:40"));
    expect(after.looks.map(brief)).toEqual([["a made sell 10"]]);
    expect(states.at(-1)).toBe("live ");
  });

  const wallet = walletOf("a", {
    sellTransactions: [{ transactionHash: "1", transactionTimestamp: 1, blocksAfterCreation: null }],
  });
  const good = { pairAddress: PAIR, blocksAfterCreation: 3, report: { ...emptyReport, result: [wallet] } };
  const watch = (known: unknown) =>
    watchSnipers(snipedWorld().client, {
      pairAddress: PAIR,
      blocksAfterCreation: 3,
      known: known as typeof good,
    });
  const withWallet = (parts: object) => ({
    ...good,
    report: { ...good.report, result: [{ ...wallet, ...parts }] },
  });
  const withSale = (parts: object) =>
    withWallet({ sellTransactions: [{ ...wallet.sellTransactions[0], ...parts }] });

  it("is taken with all that a look holds", () => {
    expect(() => watch({ ...good, events: [], trades: [], initial: true, observedAt: 0 })).not.toThrow();
  });

  it.each<[string, unknown, parameter: string]>([
    ["null", null, "known"],
    ["a text", "look", "known"],
    ["another pair", { ...good, pairAddress: "other" }, "known.pairAddress"],
    ["other blocks", { ...good, blocksAfterCreation: 4 }, "known.blocksAfterCreation"],
    ["no blocks", { ...good, blocksAfterCreation: null }, "known.blocksAfterCreation"],
    ["no report", { ...good, report: undefined }, "known.report"],
    ["a block that is a text", { ...good, report: { ...good.report, blockNumber: "7" } }, "known.report"],
    ["a hash that is a number", { ...good, report: { ...good.report, transactionHash: 7 } }, "known.report"],
    ["no list of wallets", { ...good, report: { ...good.report, result: {} } }, "known.report"],
    ["a wallet that is none", { ...good, report: { ...good.report, result: [null] } }, "known.report"],
    ["a wallet without an address", withWallet({ walletAddress: "" }), "known.report"],
    ["a wallet without a list", withWallet({ snipedTransactions: null }), "known.report"],
    ["a total that is a text", withWallet({ totalSoldUsd: "1" }), "known.report"],
    ["a total that is missing", withWallet({ totalSoldUsd: undefined }), "known.report"],
    ["a sale without a hash", withSale({ transactionHash: undefined }), "known.report"],
    ["a sale with a date", withSale({ transactionTimestamp: "2024-01-05" }), "known.report"],
    ["a sale with a block that is a text", withSale({ blocksAfterCreation: "1" }), "known.report"],
  ])("refuses %s", (_, known, parameter) => {
    expect(() => watch(known)).toThrow(InvalidInputError);
    expect(() => watch(known)).toThrow(expect.objectContaining({ parameter }));
  });
});

const LOOK = {
  pairAddress: PAIR,
  report: emptyReport,
  events: [],
  trades: [],
  initial: true,
  observedAt: 0,
} satisfies SniperLook;

describe("sniperTrades", () => {
  it.each([
    ["nothing", undefined, "hold undefined"],
    ["null", null, "hold null"],
    ["numbers", 3, "hold 3"],
    ["texts", "look", 'hold "look"'],
    ["lists", [LOOK], "hold a list"],
    ["empty objects", {}, "hold an object;"],
    ["reports", emptyReport, "hold an object with "],
    [
      "events of candles",
      { type: "new", candle: {}, series: {} },
      "hold an object with type, candle, series;",
    ],
    ["looks without trades", { ...LOOK, trades: undefined }, "hold an object with pairAddress, report, "],
    ["trades that are no list", { ...LOOK, trades: "ab" }, "hold an object with pairAddress, report, "],
  ])("says what it was given where its stream holds %s", (_, value, said) => {
    for (const before of [[], [LOOK]]) {
      let error: unknown;
      concat(of(...before, value as SniperLook), NEVER)
        .pipe(sniperTrades())
        .subscribe({ error: (caught) => (error = caught) });
      const allowed = expect.stringContaining("watchSniperReport");
      expect(error).toMatchObject({ name: "InvalidInputError", parameter: "looks", allowed });
      expect((error as Error).message).toContain(said);
    }
  });
});

it("what is known of the creation stays where a report does not say it", async () => {
  const world = snipedWorld();
  const looks: SniperLook[] = [];
  watchSniperReport(world.client, { pairAddress: PAIR, every: 5_000 }).subscribe((look) => looks.push(look));
  await world.clock.advanceBy(2_000);
  const { blockNumber, blockTimestamp, transactionHash } = looks[0]!.report;
  expect([blockNumber, blockTimestamp, transactionHash]).not.toContain(null);
  for (const less of [{ blockNumber: null }, { blockTimestamp: null, transactionHash: undefined }]) {
    world.interfere = async (_asked, answer) => {
      const { status, headers, text } = await answer();
      const body = JSON.stringify({ ...JSON.parse(await text()), ...less });
      return { status, headers, text: async () => body };
    };
    await world.clock.advanceBy(10_000);
  }
  expect(looks).toHaveLength(1);
  // The next look has it all.
  await world.clock.advanceTo(at("12:01:10"));
  expect(looks.at(-1)!.report).toMatchObject({ blockNumber, blockTimestamp, transactionHash });
  expect(looks.length).toBeGreaterThan(1);
});

describe("a transaction whose block a report does not say", () => {
  const later = (text: string) =>
    text.replace(/"transactionTimestamp":"([^"]+)"/g, (_, time) => {
      return `"transactionTimestamp":"${new Date(Date.parse(time) + 1_000).toISOString()}"`;
    });
  it.each([
    ["stays in the one that was known", (text: string) => text, []],
    ["is of no known one where its time is another", later, [null, null]],
  ] as const)("%s", async (_, edit, blocks) => {
    const world = snipedWorld();
    const events: SniperEvent[] = [];
    watchSnipers(world.client, { pairAddress: PAIR, every: 5_000 }).subscribe((event) => events.push(event));
    await world.clock.advanceBy(2_000);
    const [first] = events;
    if (first?.type !== "wallet-added") expect.fail("no wallet");
    const { snipedTransactions, sellTransactions } = first.wallet;
    const known = [...snipedTransactions, ...sellTransactions].map((one) => one.blocksAfterCreation);
    expect(known).toHaveLength(2);
    expect(known).not.toContain(null);
    const told = events.length;
    world.interfere = async (_asked, answer) => {
      const { status, headers, text } = await answer();
      const body = (await text()).replace(/"blocksAfterCreation":\d+/g, '"blocksAfterCreation":null');
      return { status, headers, text: async () => edit(body) };
    };
    await world.clock.advanceBy(20_000);
    expect(events.length > told).toBe(blocks.length > 0);
    const added = events
      .slice(told)
      .flatMap((event) => (event.type === "sniped" || event.type === "sold" ? event.transaction : []));
    expect(added.map((one) => one.blocksAfterCreation)).toEqual(blocks);
  });
});
