import { describe, expect, it } from "vitest";
import {
  applySniperEvent,
  type SniperEvent,
  type SniperReport,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import { emptyReport } from "../../src/snipers/event.js";
import { answered, at, PAIR, withRows } from "../world.js";
import { rowOf, snipedWorld, walletAddressOf } from "./wallets.js";

function sniped() {
  const world = snipedWorld();
  const events: SniperEvent[] = [];
  const errors: unknown[] = [];
  const subscription = watchSnipers(world.client, { pairAddress: PAIR }).subscribe({
    next: (event) => events.push(event),
    error: (error) => errors.push(error),
  });
  return { world, events, errors, subscription };
}

const brief = (event: SniperEvent) =>
  `${event.type} ${walletAddressOf(event)}${event.initial ? " initial" : ""}`;

describe("watchSnipers", () => {
  it("tells what is there, then each sale, with the wallet's totals after it", async () => {
    const { world, events } = sniped();
    await world.clock.advanceTo(at("12:03:20"));
    expect(events.map(brief)).toEqual([
      "wallet-added a initial",
      "wallet-added b",
      "sold a",
      "wallet-updated a",
    ]);
    expect(events[0]!.observedAt).toBe(at("12:00:10"));
    expect(events[2]).toMatchObject({
      type: "sold",
      transaction: { transactionHash: "hash-4", transactionTimestamp: at("12:02:30") },
    });
    const updated = events[3] as Extract<SniperEvent, { type: "wallet-updated" }>;
    expect(updated.changed).toEqual([
      "totalSellTransactions",
      "totalTokensSold",
      "totalSoldUsd",
      "currentBalance",
      "currentBalanceUsdValue",
      "realizedProfitPercentage",
      "realizedProfitUsd",
    ]);
    let report: SniperReport = emptyReport;
    for (const event of events) report = applySniperEvent(report, event);
    const served = await Promise.all([
      world.client.sniperReport({ pairAddress: PAIR }),
      world.clock.advanceBy(100),
    ]);
    const byAddress = [...served[0].result].sort((x, y) => (x.walletAddress < y.walletAddress ? -1 : 1));
    expect(report.result).toEqual(byAddress);
  });

  it("polls once a minute from the first look, for all subscribers, and a late one gets the present state", async () => {
    const { world, subscription } = sniped();
    await world.clock.advanceTo(at("12:01:30"));
    const late: SniperEvent[] = [];
    const second = watchSnipers(world.client, { pairAddress: PAIR }).subscribe((event) => late.push(event));
    expect(late.map(brief)).toEqual(["wallet-added a initial", "wallet-added b initial"]);
    await world.clock.advanceTo(at("12:03:30"));
    expect(late.map(brief).slice(2)).toEqual(["sold a", "wallet-updated a"]);
    expect(world.asked.map(({ sent }) => sent)).toEqual(
      [10, 70, 130, 190].map((second) => at("12:00:00") + second * 1_000),
    );
    subscription.unsubscribe();
    second.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("removes a wallet only when two reports in a row lack it, and asks the second time at once", async () => {
    const { world, events } = sniped();
    await world.clock.advanceTo(at("12:01:30"));
    let lost = 1;
    world.interfere = (_asked, answer) =>
      lost-- > 0 ? withRows(answer, (rows) => rows.slice(0, 1)) : undefined;
    const requests = world.asked.length;
    await world.clock.advanceTo(at("12:02:20"));
    expect(world.asked.length - requests).toBe(2);
    expect(events.map(brief)).toEqual(["wallet-added a initial", "wallet-added b"]);
    lost = 2;
    await world.clock.advanceTo(at("12:03:20"));
    expect(events.map(brief).filter((line) => line.startsWith("wallet-removed"))).toHaveLength(1);
  });

  it("outlives trouble, and skips a row that is broken for good", async () => {
    const { world, events, errors } = sniped();
    await world.clock.advanceTo(at("12:00:30"));
    world.interfere = () => answered(200, "null");
    await world.clock.advanceTo(at("12:01:30"));
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) =>
        rows.map((row) => (row.walletAddress === "b" ? { ...row, totalSoldUsd: "ten" } : row)),
      );
    await world.clock.advanceTo(at("12:03:30"));
    expect(errors).toEqual([]);
    expect(world.activity.filter(({ type }) => type === "dropped")).toMatchObject([
      { what: "row", key: "b", reading: "poll", pairAddress: PAIR },
    ]);
    expect(events.map(brief)).toEqual(["wallet-added a initial", "sold a", "wallet-updated a"]);
  });

  it("skips a broken row beside a good one of the same wallet, and asks anew for one that nobody can place", async () => {
    const { world, events } = sniped();
    const dropped = () => world.activity.filter(({ type }) => type === "dropped").length;
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) => [...rows, { ...rows[0], totalSoldUsd: "ten" }]);
    await world.clock.advanceTo(at("12:01:30"));
    expect(dropped()).toBe(1);
    expect(events.length).toBeGreaterThan(0);
    for (const minute of ["12:02", "12:04"]) {
      world.interfere = () => undefined;
      await world.clock.advanceTo(at(`${minute}:30`));
      const requests = world.asked.length;
      world.interfere = (_asked, answer) => withRows(answer, (rows) => [...rows, { walletAddress: null }]);
      await world.clock.advanceBy(60_000);
      expect(world.asked.length - requests).toBe(3);
    }
    expect(dropped()).toBe(3);
  });

  it.each<[string, unknown]>([
    ["an error with status 200", { message: "upstream timed out" }],
    ["nothing", {}],
    ["an error with a result that is null", { error: "upstream timed out", result: null }],
    ["a report of another's", { data: [] }],
    ["more wallets than are read", { result: new Array(10_001).fill({ walletAddress: "x" }) }],
  ])("takes %s for no report: nobody is removed, and added again", async (_, body) => {
    const { world, events, errors } = sniped();
    await world.clock.advanceTo(at("12:00:30"));
    world.interfere = () => answered(200, body as object);
    await world.clock.advanceTo(at("12:02:00"));
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:04:30"));
    expect(errors).toEqual([]);
    expect(events.map(brief).filter((line) => /added a|removed/.test(line))).toEqual([
      "wallet-added a initial",
    ]);
  });

  it.each<[string, object]>([
    ["an empty list", { result: [] }],
    ["a creation and no list", { blockNumber: 1, blockTimestamp: null, result: null }],
  ])(
    "takes nothing back where the service shows none of four wallets, and is stalled: %s",
    async (_, body) => {
      const { world, events, errors } = sniped();
      for (const wallet of ["c", "d"]) {
        world.swap(at("11:00:00"), 10, { walletAddress: wallet, side: "buy" });
        world.swap(at("11:20:00"), 10, { walletAddress: wallet, side: "sell" });
      }
      const states: string[] = [];
      watchFeedStatus(world.client, { pairAddress: PAIR }).subscribe(({ state, lastError }) =>
        states.push(`${state}${lastError === undefined ? "" : ` ${lastError.name}`}`),
      );
      await world.clock.advanceTo(at("12:01:30"));
      const told = events.length;
      expect(events.map(brief)).toContain("wallet-added d initial");
      world.interfere = () => answered(200, body);
      await world.clock.advanceTo(at("12:07:30"));
      expect(events).toHaveLength(told);
      const asked = world.asked.length;
      world.interfere = () => undefined;
      await world.clock.advanceTo(at("12:08:30"));
      expect(world.asked.length - asked).toBe(1);
      expect(events.map(brief).slice(told)).toEqual(["sold a", "wallet-updated a"]);
      const isNew = (state: string, at: number) => state !== states[at - 1];
      expect(states.filter(isNew)).toEqual(["starting", "live", "stalled ContractError", "live"]);
      expect(errors).toEqual([]);
      // One wallet of four, and then the others, do go.
      world.interfere = (_asked, answer) => withRows(answer, (rows) => rows.slice(0, 1));
      await world.clock.advanceTo(at("12:10:30"));
      world.interfere = (_asked, answer) => withRows(answer, () => []);
      await world.clock.advanceTo(at("12:12:30"));
      expect(events.map(brief).filter((line) => line.startsWith("wallet-removed"))).toHaveLength(4);
    },
  );

  it("takes another pair's report for none, and believes it once nothing else has come for two polls and a minute", async () => {
    const { world, events, errors } = sniped();
    for (const wallet of ["c", "d"]) {
      world.swap(at("11:00:00"), 10, { walletAddress: wallet, side: "buy" });
      world.swap(at("11:20:00"), 10, { walletAddress: wallet, side: "sell" });
    }
    const states: string[] = [];
    watchFeedStatus(world.client, { pairAddress: PAIR }).subscribe(({ state, lastError }) =>
      states.push(`${state} ${lastError?.message ?? ""}`),
    );
    await world.clock.advanceTo(at("12:01:30"));
    const told = events.map(brief);
    const other = answered(200, { blockNumber: 9, result: ["x", "y", "z"].map(rowOf) });
    world.interfere = () => other;
    await world.clock.advanceTo(at("12:02:30"));
    expect(events.map(brief)).toEqual(told);
    expect(states.at(-1)).toMatch(/stalled .*lacks all wallets that were there/);
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:03:30"));
    expect(events.map(brief)).toEqual([...told, "sold a", "wallet-updated a"]);
    expect(states.at(-1)).toBe("live ");
    world.interfere = () => other;
    await world.clock.advanceTo(at("12:05:30"));
    expect(states.at(-1)).toMatch(/^stalled/);
    await world.clock.advanceTo(at("12:09:30"));
    const news = events.slice(told.length + 2).map(brief);
    expect(news.filter((line) => line.startsWith("wallet-added"))).toHaveLength(3);
    expect(news.filter((line) => line.startsWith("wallet-removed"))).toHaveLength(4);
    expect(states.at(-1)).toBe("live ");
    expect(errors).toEqual([]);
  });

  it.each([{ blockNumber: 1, result: null }, { transactionHash: "hash" }])(
    "takes nothing back where reports have no list at all, however few wallets are known, and is stalled: %j",
    async (body) => {
      const { world, events } = sniped();
      const states: string[] = [];
      watchFeedStatus(world.client, { pairAddress: PAIR }).subscribe(({ state }) => states.push(state));
      await world.clock.advanceTo(at("12:01:30"));
      const told = events.map(brief);
      world.interfere = () => answered(200, body);
      await world.clock.advanceTo(at("12:07:30"));
      expect(events.map(brief)).toEqual(told);
      expect(states.at(-1)).toBe("stalled");
      world.interfere = () => undefined;
      await world.clock.advanceTo(at("12:08:30"));
      expect(events.map(brief)).toEqual([...told, "sold a", "wallet-updated a"]);
      expect(states.at(-1)).toBe("live");
    },
  );

  it.each([400, 401, 403, 424])("ends with %i", async (status) => {
    const { world, errors } = sniped();
    world.interfere = () => answered(status, { message: "no" });
    await world.clock.advanceTo(at("12:00:20"));
    expect(errors).toMatchObject([{ status }]);
    expect(world.clock.pending).toBe(0);
  });
});
