import { describe, expect, it } from "vitest";
import {
  type SniperEvent,
  type SniperTrade,
  sniperTrades,
  watchSniperReport,
  watchSnipers,
} from "../../src/index.js";
import { at, PAIR, World, withRows } from "../world.js";

type Row = Record<string, unknown>;

/** The rows as a machine has them that knows what was there at an instant: wallets are listed from their first sale on. */
function asOf(rows: Row[], instant: number): Row[] {
  const known = (list: unknown) =>
    (list as { transactionTimestamp: string }[]).filter(
      ({ transactionTimestamp }) => Date.parse(transactionTimestamp) <= instant,
    );
  return rows
    .map((row) => ({
      ...row,
      snipedTransactions: known(row.snipedTransactions),
      sellTransactions: known(row.sellTransactions),
    }))
    .filter(({ sellTransactions }) => sellTransactions.length > 0);
}

/** A pair whose wallets sell again and again; four of five answers come from a machine that lags. */
function lagging(lag: number, every: number) {
  const world = new World({ start: at("12:00:10") });
  for (const [number, walletAddress] of ["a", "b", "c"].entries()) {
    world.swap(100, 5, { walletAddress, tokenAmount: 100 });
    for (let sale = 0; sale < 8; sale += 1)
      world.swap(at("12:00:30") + 17_000 * (3 * sale + number), 5, { walletAddress, side: "sell" });
  }
  let answers = 0;
  world.interfere = (_asked, answer) => {
    answers += 1;
    return answers % 5 !== 1
      ? withRows(answer, (rows) => asOf(rows as Row[], world.clock.now() - lag))
      : undefined;
  };
  const events: SniperEvent[] = [];
  const trades: SniperTrade[] = [];
  watchSnipers(world.client, { pairAddress: PAIR, every }).subscribe((event) => events.push(event));
  watchSniperReport(world.client, { pairAddress: PAIR, every })
    .pipe(sniperTrades())
    .subscribe((trade) => trades.push(trade));
  return { world, events, trades };
}

describe.each([1_500, 3_500, 4_900])("behind a machine that lags %i ms", (lag) => {
  it.each([250, 700, 1_000, 2_000, 5_000, 60_000])(
    "no trade is taken back, and each is told once: every %i ms",
    async (every) => {
      const { world, events, trades } = lagging(lag, every);
      await world.clock.advanceTo(at("12:09:00"));
      expect(events.filter(({ type }) => type.endsWith("removed"))).toEqual([]);
      expect(trades.map(({ kind }) => kind)).toEqual(new Array(3 * 8 + 3).fill("made"));
    },
  );
});

it("a sale that a fork takes back, the newest one, goes with the first report that was made five seconds later", async () => {
  for (const every of [2_000, 60_000]) {
    const world = new World({ start: at("12:00:10") });
    world.swap(100, 5, { walletAddress: "a", tokenAmount: 9 });
    for (const time of ["11:30:00", "12:00:05"])
      world.swap(at(time), 5, { walletAddress: "a", side: "sell" });
    const gone: number[] = [];
    watchSnipers(world.client, { pairAddress: PAIR, every }).subscribe(({ type }) => {
      if (type === "transaction-removed") gone.push(world.clock.now());
    });
    await world.clock.advanceTo(at("12:01:00"));
    world.swaps.pop();
    const { length } = world.asked;
    const now = world.clock.now();
    await world.clock.advanceTo(at("12:05:00"));
    const lacking = world.asked.slice(length).map(({ sent }) => sent);
    expect(gone).toHaveLength(1);
    expect(gone[0]! - lacking[0]!).toBeGreaterThanOrEqual(5_000);
    expect(gone[0]! - now).toBeLessThan(every + Math.max(every, 7_100));
    // It is asked for twice more, no sooner than a second later.
    expect(lacking.filter((sent) => sent < lacking[0]! + 2_500).length).toBeLessThanOrEqual(3);
  }
});
