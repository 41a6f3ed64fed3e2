import { Hono } from "hono";
import {
  type Client,
  type Currency,
  healthOf,
  type Network,
  type Series,
  type SniperWatch,
  type Timeframe,
  type WatchOptions,
} from "pairstream";
import { createGateway } from "pairstream/sse";
import { CURRENCIES, TIMEFRAMES } from "./choices.js";
import { isLoopback, originOf } from "./origins.js";

/** What the page may show, and to whom. */
export interface ChartOptions {
  /** The key stays in here. */
  readonly client: Client;
  readonly network: Network;
  /** The pairs that may be asked for: each costs polls. */
  readonly pairs: readonly string[];
  /** What a page shows first; default the first pair, 10s, usd. */
  readonly first?: Partial<Selection>;
  /** ms between two polls of candles, or `"close"`; default what `watchCandles` has. */
  readonly every?: number | "close" | undefined;
  /** ms between two polls of snipers; default what `watchSnipers` has. */
  readonly snipersEvery?: number | undefined;
  /** How many intervals before the running one every poll reads again; default what `watchCandles` has. */
  readonly revisionWindow?: number;
  /** How many candles of history a page begins with; default 300. */
  readonly history?: number;
  /** ms between two signs of life on every connection; default 5,000. */
  readonly heartbeat?: number;
  /** For how many ms a channel outlives its last viewer, who may just be loading the page anew; default 10,000. */
  readonly linger?: number;
  /** Origins beyond this machine that may read, such as `"https://chart.example"`; default none. */
  readonly origins?: readonly string[];
}

/** Which series a page shows. */
export type Selection = Pick<Series, "pairAddress" | "timeframe" | "currency">;

/** What a page may choose from, and how it watches what it has chosen. */
export interface Choices {
  readonly network: Network;
  readonly pairs: readonly string[];
  readonly timeframes: readonly Timeframe[];
  readonly currencies: readonly Currency[];
  readonly first: Selection;
  readonly watch: WatchOptions;
  /** Absent where there are none. */
  readonly snipers?: Pick<SniperWatch, "every">;
}

/** The gateway of the page. */
export interface ChartGateway {
  /** The routes of `createGateway`, `/choices` and `/health`; others can be added. */
  readonly app: Hono;
  /** Ends all responses, and leaves no subscription and no timer. */
  close(): Promise<void>;
}

/** Relays the streams of one client to the pages of this machine. */
export function createChartGateway(options: ChartOptions): ChartGateway {
  const { client, network, pairs, every, snipersEvery, revisionWindow } = options;
  const { linger = 10_000, heartbeat = 5_000 } = options;
  const choices = choicesOf(options);
  const paces = [every, snipersEvery].filter((pace) => typeof pace === "number");
  const isKnown = (origin: string | undefined) =>
    origin !== undefined && (isLoopback(origin) || options.origins?.includes(origin) === true);
  const gateway = createGateway(client, {
    allow: (_request, wanted) => {
      // Only pages of this machine come as far as this, so they may see what runs.
      if (wanted.type === "status") return true;
      const isHere = wanted.type === "snipers" ? network === "mainnet" : wanted.options.network === network;
      return isHere && pairs.includes(wanted.options.pairAddress);
    },
    origins: (origin) => isKnown(originOf(origin)),
    ...(paces.length === 0 ? {} : { minEvery: Math.min(...paces) }),
    ...(revisionWindow === undefined ? {} : { revisionWindow }),
    ...{ linger, heartbeat, basePath: "/" },
  });

  const app = new Hono();
  app.use(({ req, text }, next) => {
    // A name that another site has pointed at this machine makes its pages look like those of this one.
    const hosts = ["http", "https"].map((scheme) => originOf(`${scheme}://${req.header("host")}`));
    return hosts.some(isKnown) ? next() : Promise.resolve(text("This host is not known here", 403));
  });
  app.on(["GET", "POST", "OPTIONS"], ["/candles", "/snipers", "/history", "/status"], ({ req }) =>
    gateway.fetch(req.raw),
  );
  app.get("/choices", async ({ req, json }) => {
    // Whoever may ask what runs may ask what there is.
    const status = await gateway.fetch(
      new Request(new URL("/status", req.url), { headers: req.raw.headers }),
    );
    return status.ok ? json(choices, 200, Object.fromEntries(status.headers)) : status;
  });
  app.get("/health", ({ json }) => {
    const { ok, feeds, lastError } = healthOf(client);
    return json({ ok, feeds, lastError: lastError?.message }, ok ? 200 : 503);
  });
  return { app, close: () => gateway.close() };
}

function choicesOf(options: ChartOptions): Choices {
  const { network, pairs, first, every, snipersEvery, revisionWindow, history = 300 } = options;
  const [pairAddress] = pairs;
  if (pairAddress === undefined) throw new Error("The gateway needs at least one pair");
  return {
    ...{ network, pairs, timeframes: TIMEFRAMES, currencies: CURRENCIES },
    first: { pairAddress, timeframe: "10s", currency: "usd", ...first },
    watch: {
      since: { candles: history },
      ...(every === undefined ? {} : { every }),
      ...(revisionWindow === undefined ? {} : { revisionWindow }),
    },
    ...(network === "devnet" ? {} : { snipers: snipersEvery === undefined ? {} : { every: snipersEvery } }),
  };
}
