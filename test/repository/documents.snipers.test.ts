import {
  type Client,
  type CostEstimate,
  createClient,
  type Sniper,
  type SniperLook,
  type SniperTrade,
  summarizeSnipers,
  VirtualClock,
  watchFeedStatus,
  watchSniperReport,
  watchSnipers,
} from "pairstream";
import { demoService } from "pairstream/service";
import type { Observable } from "rxjs";
import { beforeAll, describe, expect, it } from "vitest";
import { loadExports, programs } from "../documents/recipes.js";
import { at, PAIR, World } from "../world.js";

const GUIDE = "docs/snipers.md";
const HOUR = 3_600_000;

/** What the guide exports. Its first program is run by test/examples/snipers-guide.programs.test.ts. */
interface Guide {
  readonly cost: CostEstimate;
  describe(client: Client, pairAddress: string): Promise<string[]>;
  largeSales(looks: Observable<SniperLook>, atLeast: number): Observable<SniperTrade>;
  soldOut(looks: Observable<SniperLook>): Observable<Sniper>;
  fromTheFirstSwap(client: Client, pairAddress: string): Observable<SniperLook>;
}

const blocks = programs().filter(({ document }) => document === GUIDE);
let guide: Guide;
beforeAll(async () => {
  guide = Object.assign({}, ...(await Promise.all(blocks.slice(1).map(loadExports)))) as Guide;
});

/** A pair in whose first two blocks `ann` and `bob` buy. `ann` has sold some at the start; `bob` sells all at 12:01. */
function market(): World {
  const world = new World({ start: at("12:00:10") });
  const swap = (time: string, walletAddress: string, side: "buy" | "sell", tokenAmount: number) =>
    world.swap(at(time), 10 * tokenAmount, { walletAddress, side, tokenAmount });
  swap("11:00:00", "ann", "buy", 9);
  swap("11:00:00.400", "bob", "buy", 2);
  swap("11:30:00", "ann", "sell", 1);
  swap("12:01:00", "bob", "sell", 2);
  swap("12:02:00", "ann", "sell", 3);
  swap("12:03:00", "ann", "sell", 5);
  return world;
}

const looksOf = ({ client }: World) => watchSniperReport(client, { pairAddress: PAIR });

describe("the guide to snipers", () => {
  it("has no block that no test runs", () => {
    expect(blocks).toHaveLength(5);
    const names = [
      "cost",
      "describe",
      "fromTheFirstSwap",
      "largeSales",
      "pairAddress",
      "soldOut",
      "soldOutBy",
    ];
    expect(Object.keys(guide).sort()).toEqual(names);
    expect(guide.cost).toMatchObject({ requests: 1_440, units: 72_000 });
  });

  it("describes a pair with one request", async () => {
    const world = market();
    await world.clock.advanceTo(at("12:01:30"));
    const lines = guide.describe(world.client, PAIR);
    await world.clock.advanceTo(at("12:01:40"));
    expect(await lines).toEqual([
      "2 snipers, 1 in the block of the creation, 0 in profit",
      "sniped for 110 USD, sold for 30 USD, hold 80 USD",
      "fastest sale: 1800000 ms, ann",
      "bob made 0 USD",
      "ann made -80 USD",
    ]);
    expect(world.asked).toHaveLength(1);
  });

  it("tells of large sales, and once of each wallet that has sold out", async () => {
    const world = market();
    const told: string[] = [];
    guide
      .largeSales(looksOf(world), 30)
      .subscribe(({ walletAddress, lookUsd }) => told.push(`${walletAddress} ${lookUsd}`));
    guide.soldOut(looksOf(world)).subscribe(({ walletAddress }) => told.push(`${walletAddress} sold out`));
    await world.clock.advanceTo(at("12:10:00"));
    expect(told).toEqual(["bob sold out", "ann 30", "ann 50", "ann sold out"]);
  });

  it("waits for a young pair at the pace that it says", async () => {
    const world = new World({ start: at("12:00:10") });
    const looks: SniperLook[] = [];
    guide.fromTheFirstSwap(world.client, PAIR).subscribe((look) => looks.push(look));
    await world.clock.advanceTo(at("13:00:00"));
    expect(looks).toEqual([]);
    const common = { walletAddress: "ann", tokenAmount: 1 };
    world.swap(at("13:00:01"), 10, { ...common, side: "buy" });
    world.swap(at("13:00:02"), 10, { ...common, side: "sell" });
    await world.clock.advanceTo(at("13:00:08"));
    expect(looks).toMatchObject([{ initial: false, trades: [{ side: "snipe" }, { side: "sell" }] }]);
  });

  it("takes 60 requests an hour a pair, and none more for summaries, alerts and further subscribers", async () => {
    const scheduler = new VirtualClock(at("12:00:00.010"));
    const demo = demoService({ pairs: 2, createdAt: at("11:55:00"), clock: () => scheduler.now() });
    const client = createClient({ ...demo.clientOptions, scheduler });
    const asked = new Map<string, number>();
    client.activity.subscribe((activity) => {
      if (activity.type === "request") asked.set(activity.url, (asked.get(activity.url) ?? 0) + 1);
    });
    let [summaries, told] = [0, 0];
    const subscriptions = demo.pairs.flatMap((pairAddress) => {
      const looks = watchSniperReport(client, { pairAddress });
      return [
        looks.subscribe(({ report }) => (summaries += summarizeSnipers(report).wallets)),
        guide.largeSales(looks, 0).subscribe(() => (told += 1)),
        guide.soldOut(looks).subscribe(() => (told += 1)),
        watchSnipers(client, { pairAddress }).subscribe(),
        watchFeedStatus(client, { pairAddress }).subscribe(),
      ];
    });
    await scheduler.advanceBy(HOUR);
    for (const subscription of subscriptions) subscription.unsubscribe();
    expect(summaries).toBeGreaterThan(0);
    expect(told).toBeGreaterThan(0);
    expect([...asked.values()]).toEqual([60, 60]);
  });
});
