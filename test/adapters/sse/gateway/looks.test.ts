import fc from "fast-check";
import {
  clientSource,
  type PairSource,
  pauseWhileHidden,
  type SniperLook,
  type SniperTrade,
} from "pairstream";
import { type GatewayFetch, gatewaySource } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { FakePage } from "../../../pause/page.js";
import { PAIR, World, withRows } from "../../../world.js";
import { ADDRESS, BORN, Cable, MINUTE, START, Stage } from "./stage.js";

const WALLETS = ["ann", "bob", "cid"];

/** One thing that happens on the chain, or to the answers. */
const happening = fc.record({
  after: fc.integer({ min: 0, max: 8 * MINUTE }),
  what: fc.oneof(
    fc.record({ sale: fc.constantFrom(...WALLETS), tokens: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ fork: fc.nat(40) }),
    fc.record({ cut: fc.constantFrom(...WALLETS) }),
    fc.record({ broken: fc.constantFrom(...WALLETS) }),
    fc.record({ shorn: fc.constantFrom(...WALLETS) }),
    fc.constant({ headless: true }),
  ),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** A world whose wallets have bought early; `ann` has sold, too. */
function launched(): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true });
  for (const [at, walletAddress] of WALLETS.entries()) {
    world.swap(BORN + at, 100, { walletAddress, tokenAmount: 10 });
  }
  world.swap(BORN + 60_000, 50, { walletAddress: "ann", side: "sell", tokenAmount: 1 });
  return world;
}

function happens(world: World, { after, what }: Happening): void {
  const { clock } = world;
  /** The next answer alone. */
  const once = (change: (row: Record<string, unknown>) => Record<string, unknown> | undefined) => {
    world.interfere = (_asked, answer) => {
      world.interfere = () => undefined;
      return withRows(answer, (rows) => rows.flatMap((row) => change(row) ?? []));
    };
  };
  clock.schedule(() => {
    if ("sale" in what) {
      world.swap(clock.now(), what.tokens, { walletAddress: what.sale, side: "sell", tokenAmount: 1 });
    } else if ("fork" in what) {
      if (world.swaps.length > 4) world.swaps.splice(4 + (what.fork % (world.swaps.length - 4)), 1);
    } else if ("cut" in what) {
      once((row) => (row.walletAddress === what.cut ? undefined : row));
    } else if ("broken" in what) {
      once((row) => (row.walletAddress === what.broken ? { ...row, totalSoldUsd: "ten" } : row));
    } else if ("shorn" in what) {
      once((row) =>
        row.walletAddress === what.shorn ? { ...row, sellTransactions: [], totalSoldUsd: 0 } : row,
      );
    } else {
      world.interfere = async (_asked, answer) => {
        world.interfere = () => undefined;
        const { text, ...rest } = await answer();
        return {
          ...rest,
          text: async () => JSON.stringify({ ...JSON.parse(await text()), blockNumber: null }),
        };
      };
    }
  }, after);
}

function followed(source: PairSource) {
  const looks: SniperLook[] = [];
  const errors: unknown[] = [];
  const subscription = source.sniperReport({ pairAddress: PAIR }).subscribe({
    next: (look) => looks.push(look),
    error: (error) => errors.push(error),
  });
  return { looks, errors, subscription };
}

/** Waits until so many requests are out: the first one waits for a module to load. */
async function asks(stage: Stage, requests: number): Promise<void> {
  while (stage.addresses.length < requests) await stage.clock.advanceBy(0);
  await stage.pass(0);
}

const keyOf = ({ walletAddress, side, transaction }: SniperTrade) =>
  `${walletAddress} ${side} ${transaction.transactionHash}`;

/** The trades that are told by looks and not taken back. Fails where one is told twice, or another taken back. */
function standing(looks: readonly SniperLook[]): string[] {
  const told = new Set<string>();
  for (const trade of looks.flatMap(({ trades }) => trades)) {
    const isNew = trade.kind === "made";
    expect(told.has(keyOf(trade)), keyOf(trade)).toBe(!isNew);
    if (isNew) told.add(keyOf(trade));
    else told.delete(keyOf(trade));
  }
  return [...told].sort();
}

const tradesIn = ({ report }: SniperLook) =>
  report.result
    .flatMap(({ walletAddress, snipedTransactions, sellTransactions }) => [
      ...snipedTransactions.map(({ transactionHash }) => `${walletAddress} snipe ${transactionHash}`),
      ...sellTransactions.map(({ transactionHash }) => `${walletAddress} sell ${transactionHash}`),
    ])
    .sort();

const sourceOf = (stage: Stage) => gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });

/** The looks of two subscribers, one of them later, at home or at a gateway. */
async function looksOf(happenings: readonly Happening[], isServed: boolean) {
  const stage = new Stage({}, launched());
  const source = isServed ? sourceOf(stage) : clientSource(stage.world.client);
  const first = followed(source);
  if (isServed) await asks(stage, 1);
  for (const one of happenings) happens(stage.world, one);
  await stage.pass(4.2 * MINUTE);
  const late = followed(source);
  if (isServed) await asks(stage, 2);
  await stage.pass(8 * MINUTE);
  for (const { subscription } of [first, late]) subscription.unsubscribe();
  await stage.gateway.close();
  await stage.pass(0);
  expect(stage.clock.pending).toBe(0);
  expect([...first.errors, ...late.errors]).toEqual([]);
  return { first: first.looks, late: late.looks };
}

describe("the looks of a gateway", () => {
  it("are those of its client, over sales, forks and answers that lack something, for one who comes late, too", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 10 }), async (happenings) => {
        const [home, served] = [await looksOf(happenings, false), await looksOf(happenings, true)];
        expect(served).toEqual(home);
        expect(home.first.length).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });

  it("tell each trade once over lost connections and pauses, whatever happens meanwhile", async () => {
    const gap = fc.record({
      at: fc.integer({ min: 0, max: 8 * MINUTE }),
      what: fc.constantFrom("cut", "hide", "restart"),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(happening, { maxLength: 10 }),
        fc.array(gap, { maxLength: 4 }),
        async (happenings, gaps) => {
          const page = new FakePage();
          const stage = new Stage({}, launched());
          const cable = new Cable();
          let gateway = stage.gateway;
          const fetch: GatewayFetch = async (url, init) => {
            stage.addresses.push(url);
            return cable.through(await gateway.fetch(new Request(url, init)));
          };
          const scheduler = stage.clock;
          const served = gatewaySource(ADDRESS, { fetch, scheduler });
          const source = pauseWhileHidden(served, { after: 1_000, scheduler });
          const { looks, errors, subscription } = followed(source);
          await asks(stage, 1);
          for (const one of happenings) happens(stage.world, one);
          for (const { at, what } of gaps) {
            scheduler.schedule(() => {
              if (what === "hide") {
                page.hide();
                scheduler.schedule(() => page.show(), MINUTE);
              } else cable.cut();
              if (what === "restart") gateway = new Stage({}, stage.world).gateway;
            }, at);
          }
          await stage.pass(10 * MINUTE);
          // What a lost second answer was to confirm comes with the next ones.
          await stage.pass(3 * MINUTE);
          const home = followed(clientSource(stage.world.client));
          await stage.pass(0);
          expect(errors).toEqual([]);
          expect(standing(looks)).toEqual(tradesIn(looks.at(-1)!));
          expect(looks.at(-1)!.report).toEqual(home.looks.at(-1)!.report);
          expect(looks.filter(({ initial }) => initial)).toEqual([looks[0]]);
          for (const one of [subscription, home.subscription]) one.unsubscribe();
        },
      ),
      { numRuns: 40 },
    );
  });

  it("share the channel of its snipers, and cost no request beside them", async () => {
    const stage = new Stage({}, launched());
    const source = sourceOf(stage);
    const { subscription } = followed(source);
    subscription.add(source.snipers({ pairAddress: PAIR }).subscribe());
    subscription.add(source.status({ pairAddress: PAIR }).subscribe());
    await asks(stage, 2);
    await stage.pass(10 * MINUTE);
    expect(stage.addresses).toHaveLength(2);
    expect(await stage.status()).toMatchObject({ viewers: 2, channels: [{ type: "snipers" }] });
    expect(stage.world.asked).toHaveLength(10);
    subscription.unsubscribe();
    await stage.gateway.close();
  });
});
