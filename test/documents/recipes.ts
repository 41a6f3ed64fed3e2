import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path/posix";
import { type CandleEvent, createClient, type FetchLike, VirtualClock, watchCandles } from "pairstream";
import { createPairService, type Swap, type SwapSource, unsettled, withFaults } from "pairstream/service";
import { connect, merge, type Observable, type Subscription, tap } from "rxjs";
import ts from "typescript";
import { type Block, markdownBlocks } from "./blocks.js";
import { filesBelow, read, root } from "./files.js";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const START = Date.UTC(2025, 0, 3, 6);
export const PAIRS = ["first-pair", "second-pair"];

/** What a document tells a bot to do: it acts on whatever comes out. */
export interface Recipe {
  readonly name: string;
  run(events: Observable<CandleEvent>): Observable<unknown>;
}

/** The programs of the documents, of each its code. */
export const programs = (): Block[] =>
  ["README.md", ...filesBelow("docs", ".md")]
    .flatMap((path) => markdownBlocks(path, read(path)))
    .filter(({ language }) => language === "ts");

/** The names of the functions from candle events, and from nothing else, that a block exports. */
export const recipesIn = ({ code }: Pick<Block, "code">): string[] =>
  [...code.matchAll(/^export const (\w+) = \(\w+: Observable<CandleEvent>\)/gm)].map(([, name]) => name!);

/** The recipes of all documents, without what surrounds them: clients and subscriptions. */
export async function loadRecipes(): Promise<Recipe[]> {
  const blocks = programs().filter((block) => recipesIn(block).length > 0);
  const loaded = blocks.map(async (block) => {
    const module = (await loadExports(block)) as Record<string, Recipe["run"]>;
    return recipesIn(block).map((name) => ({ name: `${block.document}: ${name}`, run: module[name]! }));
  });
  return (await Promise.all(loaded)).flat();
}

/** What a program of the documents exports. */
export async function loadExports({ code }: Pick<Block, "code">): Promise<object> {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "recipes-"));
  try {
    const file = join(folder, "recipe.ts");
    writeFileSync(file, declarationsOf(code));
    return await import(/* @vite-ignore */ file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function declarationsOf(code: string): string {
  const file = ts.createSourceFile("block.ts", code, ts.ScriptTarget.Latest, true);
  const isKept = (node: ts.Statement) =>
    ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node) || /^export\b/.test(node.getText(file));
  return file.statements
    .filter(isKept)
    .map((node) => node.getText(file))
    .join("\n");
}

/** What a recipe has acted on. */
export interface Act {
  readonly key: string;
  readonly at: number;
  readonly event: CandleEvent;
}

const keyOf = ({ series, candle }: CandleEvent) => `${series.pairAddress} ${candle.timestamp}`;

interface Trouble {
  /** Swaps that come late, and forks: corrections and removals. */
  readonly isUnsettled?: boolean;
  readonly rates?: Parameters<typeof withFaults>[1]["rates"];
  /** How far the price of a swap is from the waves, as a share of it; the more, the more lines cross. */
  readonly roughness?: number;
  /** In place of a market that is busy. */
  readonly source?: SwapSource;
  /** No network, `[from, to)`. */
  readonly outage?: readonly [from: number, to: number];
}

/** A swap of each pair every `step` ms, at prices that go up and down within minutes and hours. */
const busy = (step: number, roughness: number): SwapSource => ({
  pair: (_network, pairAddress) => ({
    tokenAddress: null,
    createdAt: START - 48 * HOUR,
    settled: true,
    *swaps({ from, to, asOf }) {
      const phase = PAIRS.indexOf(pairAddress);
      for (
        let at = Math.ceil(Math.max(from, START - 48 * HOUR) / step) * step;
        at < to && at <= asOf;
        at += step
      ) {
        const wave = Math.sin(at / (9 * MINUTE) + phase) + Math.sin(at / (2.3 * MINUTE)) / 3;
        const price =
          100 * Math.exp(wave / 25 + Math.sin(at / HOUR + phase) / 20 + noise(at + phase) * roughness);
        const tokenAmount = 1 + noise(at + 500 + phase);
        yield swapAt(at, price, tokenAmount);
      }
    },
  }),
});

/** A minute at 10 with a swap at 5 two seconds before its end, and silence from then on. */
export const crash: SwapSource = {
  pair: () => ({
    tokenAddress: null,
    createdAt: START,
    settled: true,
    swaps: ({ from, to, asOf }) =>
      [swapAt(START + 1_000, 10, 1), swapAt(START + 58_000, 5, 1)].filter(
        ({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf,
      ),
  }),
};

/** Some number from 0 to 1, always the same at an instant. */
const noise = (at: number) => Math.abs(Math.sin(at * 12.9898) * 43_758.5453) % 1;

function swapAt(timestamp: number, price: number, tokenAmount: number): Swap {
  return {
    blockNumber: timestamp / 1_000,
    timestamp,
    transactionHash: `swap-${timestamp}`,
    walletAddress: "wallet",
    side: "buy",
    tokenAmount,
    usdAmount: price * tokenAmount,
    nativeAmount: price * tokenAmount,
  };
}

/** A machine, a network in trouble and a service; recipes act on two pairs, merged. */
export class Stage {
  readonly clock = new VirtualClock(START);
  readonly #fetch: FetchLike;

  constructor({ isUnsettled = false, rates, outage = [0, 0], roughness = 0.02, source }: Trouble = {}) {
    const { clock } = this;
    const market = isUnsettled
      ? unsettled(busy(45_000, roughness), { seed: 3, settlesAfter: 90_000, late: 0.3, forks: 0.5 })
      : busy(15_000, roughness);
    const service = createPairService({ source: source ?? market, clock: () => clock.now() });
    const network: FetchLike = async (url, init) => {
      if (clock.now() >= outage[0] && clock.now() < outage[1]) throw new TypeError("no network");
      return service.fetch(url, init);
    };
    this.#fetch = rates === undefined ? network : withFaults(network, { seed: 11, scheduler: clock, rates });
  }

  client() {
    return createClient({
      baseUrl: "http://localhost",
      apiKey: "any",
      fetch: this.#fetch,
      scheduler: this.clock,
    });
  }

  /** Lets recipes act from now on. */
  perform(recipes: readonly Recipe[], client = this.client()): Performance {
    return new Performance(recipes, client, this.clock);
  }
}

export class Performance {
  /** Every event, and when it came. */
  readonly raw: Act[] = [];
  readonly errors: unknown[] = [];
  /** By the recipe's name. */
  readonly acts: ReadonlyMap<string, Act[]>;
  readonly #subscription: Subscription;

  constructor(recipes: readonly Recipe[], client: ReturnType<Stage["client"]>, clock: VirtualClock) {
    this.acts = new Map(recipes.map(({ name }) => [name, []]));
    const note = (acts: Act[]) =>
      tap((acted: unknown) => {
        const event = ((acted as { event?: CandleEvent }).event ?? acted) as CandleEvent;
        acts.push({ key: keyOf(event), at: clock.now(), event });
      });
    const watches = PAIRS.map((pairAddress) =>
      watchCandles(client, {
        network: "mainnet",
        pairAddress,
        timeframe: "1min",
        currency: "usd",
        since: { candles: 1_300 },
      }),
    );
    this.#subscription = merge(...watches)
      .pipe(
        connect((events) =>
          merge(
            events.pipe(note(this.raw)),
            ...recipes.map(({ name, run }) => run(events).pipe(note(this.acts.get(name)!))),
          ),
        ),
      )
      .subscribe({ error: (error) => this.errors.push(error) });
  }

  /** The candles, each with the first event that told it closed or final. */
  firstCloses(): Map<string, Act> {
    const first = new Map<string, Act>();
    for (const act of this.raw) {
      const { type, status } = act.event;
      if (type !== "removed" && status !== "open" && !first.has(act.key)) first.set(act.key, act);
    }
    return first;
  }

  end(): void {
    this.#subscription.unsubscribe();
  }
}
