import { describe, expect, it } from "vitest";
import { isGone, isSameTransaction, type Report, reportsOf } from "./reports.js";
import type { RunLog } from "./run-log.js";

const URL = "http://localhost/v2/token/mainnet/pairs/pair/snipers?blocksAfterCreation=3";
const row = (walletAddress: string, hashes: readonly string[], second = 0) => ({
  walletAddress,
  snipedTransactions: [],
  sellTransactions: hashes.map((transactionHash) => ({
    transactionHash,
    transactionTimestamp: new Date(Date.UTC(2024, 0, 1) + 1_000 * second).toISOString(),
    blocksAfterCreation: 7,
  })),
});

/** Answers as the client tells of them: when the service made each, its rows, and what went wrong with it. */
function reports(
  ...answers: readonly { at: number; rows: readonly unknown[]; faults?: string[]; took?: number }[]
): Report[] {
  const told = answers.map(({ at, rows, faults = [], took = 0 }, id) => ({
    id,
    url: URL,
    priority: "refresh",
    answeredAt: at,
    sent: at + 10 - took,
    received: at + 10,
    faults,
    body: JSON.stringify({ result: rows }),
    told: { order: id, isGood: true, error: undefined },
  }));
  return reportsOf(
    { told, exchanges: told } as unknown as Pick<RunLog, "told" | "exchanges"> & RunLog,
    "pair 3",
  );
}

const ann = { address: "ann" };
const there = { at: 0, rows: [row("ann", ["a"]), row("bob", ["b"], 1)] };

it("a report that shows none of four known wallets is none: one of others for a minute and two polls, one of nobody for ever", () => {
  const of = (at: number, ...names: readonly string[]) => ({
    at,
    rows: names.map((name) => row(name, [name])),
  });
  const four = of(0, "a", "b", "c", "d");
  const believed = (...answers: readonly ReturnType<typeof of>[]) =>
    reports(...answers).map(({ order }) => order);
  const long = 3 * 60_000;
  expect(believed(four, of(10), of(long + 10), of(long + 20, "d"))).toEqual([0, 3]);
  expect(believed(four, of(10, "x"), of(long + 9, "x"), of(long + 10, "x"))).toEqual([0, 3]);
  expect(believed(four, of(10, "x"), of(20, "a"), of(long + 10, "x"))).toEqual([0, 2, 3]);
  expect(believed(of(0, "a", "b", "c"), of(10))).toEqual([0, 1]);
});

describe("a wallet is gone", () => {
  it("after two answers without it that were made a second apart, and not sooner", () => {
    const without = (at: number) => ({ at, rows: [row("bob", ["b"], 1)] });
    expect(isGone(reports(there, without(5_000)), ann)).toBe(false);
    expect(isGone(reports(there, without(5_000), without(5_989)), ann)).toBe(false);
    expect(isGone(reports(there, without(5_000), without(6_000)), ann)).toBe(true);
    expect(isGone(reports(there, without(5_000), there, without(9_000)), ann)).toBe(false);
    // What the way of the first may hide of that second, up to a half, and for sure nothing of it.
    const slow = (took: number) => ({ ...without(5_000), took });
    const gone = (took: number, at: number, isInARow = false) =>
      isGone(reports(there, slow(took), without(at)), ann, { isInARow });
    expect([gone(300, 5_689), gone(300, 5_690), gone(300, 5_999, true)]).toEqual([false, true, false]);
    expect([gone(2_000, 5_494), gone(2_000, 5_495)]).toEqual([false, true]);
  });

  it("not by copies of one answer, whether or not a cache tells how old it is", () => {
    const rows = [row("bob", ["b"], 1)];
    const copy = { at: 5_000, rows };
    expect(isGone(reports(there, copy, copy, copy), ann)).toBe(false);
    const untold = { at: 5_900, rows, faults: ["cached"] };
    expect(isGone(reports(there, copy, untold, { at: 5_950, rows }), ann)).toBe(false);
  });

  it("and a trade that no newer one follows only after five seconds, as a machine may lag", () => {
    const bob = (at: number, ...hashes: readonly string[]) => ({ at, rows: [row("bob", hashes, 1)] });
    const first = { at: 0, rows: [row("ann", ["a"], 1), row("bob", ["b", "c"], 1)] };
    const isOver = { isInARow: true };
    const sale = { address: "bob", list: "sellTransactions", hash: "c" } as const;
    for (const subject of [ann, sale]) {
      const lacking = (...instants: readonly number[]) =>
        reports(first, ...instants.map((at) => bob(at, "b")));
      expect(isGone(lacking(1_000, 4_980), subject)).toBe(false);
      expect(isGone(lacking(1_000, 4_990), subject)).toBe(true);
      // For sure once two that lack it were made so far apart.
      expect(isGone(lacking(1_000, 6_999), subject, isOver)).toBe(false);
      expect(isGone(lacking(1_000, 7_000), subject, isOver)).toBe(true);
    }
    // What is newer follows in the second one.
    const followed = reports(first, bob(1_000, "b"), { at: 2_000, rows: [row("bob", ["b", "d"], 2)] });
    expect([isGone(followed, ann), isGone(followed, sale, isOver)]).toEqual([true, true]);
  });

  it("maybe, and not for sure, by answers that lie about when they were made", () => {
    const lying = (at: number) => ({ at, rows: [row("bob", ["b"], 1)], faults: ["wrongDate"] });
    const both = reports(there, lying(5_000), lying(9_000));
    expect([isGone(both, ann), isGone(both, ann, { isInARow: true })]).toEqual([true, false]);
  });

  it("not by an answer with a row that may be its own", () => {
    const vague = (at: number) => ({ at, rows: [row("bob", ["b"], 1), { totalSoldUsd: 1 }] });
    expect(isGone(reports(there, vague(5_000), vague(9_000)), ann)).toBe(false);
    const broken = (at: number) => ({ at, rows: [{ ...row("ann", []), totalSoldUsd: "many" }] });
    expect(isGone(reports(there, broken(5_000), broken(9_000)), ann)).toBe(false);
  });
});

it("a number in a text is that number, and any other text breaks its row", () => {
  const [report] = reports({
    at: 0,
    rows: [
      { ...row("ann", []), totalSoldUsd: "412" },
      { ...row("bob", ["b"], 1), totalSoldUsd: "many" },
    ],
  });
  expect(report!.wallets.get("ann")!.totalSoldUsd).toBe(412);
  expect(report!.broken).toEqual(new Set(["bob"]));
});

it("a transaction is read with all that is said of it", () => {
  const [report] = reports(there);
  expect(report!.wallets.get("ann")!.sellTransactions.get("a")).toEqual({
    transactionHash: "a",
    transactionTimestamp: Date.UTC(2024, 0, 1),
    blocksAfterCreation: 7,
  });
});

it("a transaction is as an answer has it, which may leave out its block", () => {
  const known = { transactionHash: "a", transactionTimestamp: 1, blocksAfterCreation: 7 };
  expect(isSameTransaction(known, { ...known })).toBe(true);
  expect(isSameTransaction(known, { ...known, blocksAfterCreation: null })).toBe(true);
  expect(isSameTransaction(known, { ...known, blocksAfterCreation: 8 })).toBe(false);
  expect(isSameTransaction({ ...known, blocksAfterCreation: null }, known)).toBe(false);
});
