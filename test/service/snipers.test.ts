import { createPairService, type Swap, swapTape } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { ask, toLine } from "./harness.js";
import { pairAddress, smallTape } from "./small-tape.js";

function serve(swaps: readonly Swap[], now = "2024-03-01T00:00:00Z", minimumUsd = 0) {
  const source = swapTape(swaps.map(toLine), { pairAddress, tokenAddress: "tokenA", minimumUsd });
  return createPairService({ source, clock: () => Date.parse(now) });
}

async function report(service: ReturnType<typeof serve>, blocksAfterCreation?: number) {
  const query = blocksAfterCreation === undefined ? "" : `?blocksAfterCreation=${blocksAfterCreation}`;
  const { status, body } = await ask(service, `/token/mainnet/pairs/${pairAddress}/snipers${query}`);
  expect(status).toBe(200);
  return body;
}

const wallets = (body: { result: { walletAddress: string }[] }) =>
  body.result.map((sniper) => sniper.walletAddress);

describe("sniper reports worked out by hand", () => {
  it("gives every field of the whole tape", async () => {
    expect(await report(serve(smallTape))).toEqual({
      blockNumber: 100,
      blockTimestamp: "2024-01-31T23:59:50.000Z",
      transactionHash: "h1",
      result: [
        {
          walletAddress: "alice",
          snipedTransactions: [
            {
              transactionHash: "h1",
              transactionTimestamp: "2024-01-31T23:59:50.000Z",
              blocksAfterCreation: 0,
            },
          ],
          sellTransactions: [
            {
              transactionHash: "h4",
              transactionTimestamp: "2024-01-31T23:59:59.999Z",
              blocksAfterCreation: 4,
            },
            {
              transactionHash: "h9",
              transactionTimestamp: "2024-02-01T06:34:59.999Z",
              blocksAfterCreation: 301,
            },
            {
              transactionHash: "h11",
              transactionTimestamp: "2024-02-05T00:00:00.000Z",
              blocksAfterCreation: 8901,
            },
          ],
          totalSellTransactions: 3,
          totalSnipedTransactions: 1,
          totalTokensSniped: 100,
          totalSnipedUsd: 200,
          totalTokensSold: 120,
          totalSoldUsd: 440,
          // Bought 110 in all and sold 120: a balance is never below 0.
          currentBalance: 0,
          currentBalanceUsdValue: 0,
          realizedProfitPercentage: 120,
          realizedProfitUsd: 240,
        },
        {
          walletAddress: "bob",
          snipedTransactions: [
            {
              transactionHash: "h2",
              transactionTimestamp: "2024-01-31T23:59:50.400Z",
              blocksAfterCreation: 1,
            },
          ],
          // One hash, two swaps, two entries.
          sellTransactions: [
            {
              transactionHash: "h5",
              transactionTimestamp: "2024-02-01T00:00:00.000Z",
              blocksAfterCreation: 5,
            },
            {
              transactionHash: "h5",
              transactionTimestamp: "2024-02-01T00:00:00.000Z",
              blocksAfterCreation: 5,
            },
          ],
          totalSellTransactions: 2,
          totalSnipedTransactions: 1,
          totalTokensSniped: 50,
          totalSnipedUsd: 110,
          totalTokensSold: 30,
          totalSoldUsd: 110,
          currentBalance: 20,
          currentBalanceUsdValue: 140,
          realizedProfitPercentage: 0,
          realizedProfitUsd: 0,
        },
      ],
    });
  });

  it("counts the first block, then as many as asked for", async () => {
    const service = serve(smallTape);
    expect(wallets(await report(service, 0))).toEqual(["alice"]);
    const narrow = await report(service, 1);
    expect(wallets(narrow)).toEqual(["alice", "bob"]);
    expect(narrow.result[1]).toMatchObject({ totalSnipedTransactions: 1, totalSnipedUsd: 110 });
    const wide = await report(service, 1_000);
    expect(wallets(wide)).toEqual(["alice", "bob"]);
    // Alice's buy in block 400 is now an early one too.
    expect(wide.result[0]).toMatchObject({
      totalSnipedTransactions: 2,
      totalSnipedUsd: 250,
      realizedProfitUsd: 190,
    });
  });

  it("knows only what has happened by its clock", async () => {
    const early = await report(serve(smallTape, "2024-02-01T00:00:00.500Z"));
    expect(early.result[0]).toMatchObject({
      walletAddress: "alice",
      totalSellTransactions: 1,
      totalSoldUsd: 60,
      currentBalance: 60,
      currentBalanceUsdValue: 180,
      realizedProfitUsd: -140,
      realizedProfitPercentage: -70,
    });
    expect(wallets(await report(serve(smallTape, "2024-01-31T23:59:55Z")))).toEqual([]);
    const { status } = await ask(
      serve(smallTape, "2024-01-31T23:59:49.999Z"),
      `/token/mainnet/pairs/${pairAddress}/snipers`,
    );
    expect(status).toBe(404);
  });

  it("takes dust for absent, the first swap included", async () => {
    const dusty: Swap[] = [{ ...smallTape[0]!, transactionHash: "dust", usdAmount: 0.1 }, ...smallTape];
    expect(await report(serve(dusty))).toMatchObject({ transactionHash: "dust" });
    expect(await report(serve(dusty, undefined, 1))).toMatchObject({ transactionHash: "h1" });
  });

  it("gives 0, and never nothing divided by nothing, for what was had for free", async () => {
    const gift: Swap = { ...smallTape[0]!, tokenAmount: 0, usdAmount: 0, nativeAmount: 0 };
    const sale: Swap = { ...gift, side: "sell", usdAmount: 5 };
    const { result } = await report(serve([gift, sale]));
    expect(result[0]).toMatchObject({
      totalSnipedUsd: 0,
      realizedProfitUsd: 5,
      realizedProfitPercentage: 0,
      currentBalanceUsdValue: 0,
    });
  });

  it("keeps sums finite", async () => {
    const vast: Swap = { ...smallTape[0]!, tokenAmount: 1e308, usdAmount: 1e308 };
    const tiny: Swap = { ...vast, tokenAmount: 1e-300 };
    const body = await report(serve([vast, vast, tiny, { ...vast, side: "sell" }]));
    for (const value of Object.values(body.result[0])) expect(value).not.toBeNull();
  });

  it("finds early buys where one second holds blocks out of order", async () => {
    const at = (blockNumber: number, walletAddress: string, side: "buy" | "sell", second: number): Swap => ({
      ...smallTape[0]!,
      timestamp: Date.UTC(2024, 0, 1, 0, 0, second),
      blockNumber,
      walletAddress,
      side,
    });
    const swaps = [
      at(10, "a", "buy", 0),
      at(15, "b", "buy", 1),
      at(12, "c", "buy", 1),
      at(16, "a", "sell", 2),
      at(17, "b", "sell", 2),
      at(18, "c", "sell", 3),
    ];
    expect(wallets(await report(serve(swaps)))).toEqual(["a", "c"]);
  });
});
