import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import {
  type Client,
  type Currency,
  type FeedStatus,
  type Network,
  type Series,
  type Timeframe,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "pairstream";
import { createEventChannel, type EventChannel } from "pairstream/sse";
import { catchError, EMPTY, type Observable, tap } from "rxjs";
import { isLoopback, originOf } from "./origins.js";
import { watchedUntilItEnds } from "./watched-body.js";

/** What a gateway relays, and to whom. */
export interface GatewayOptions {
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
  /** How many candles of history a channel begins with; default 300. */
  readonly history?: number;
  /** ms between two signs of life on every connection; default 5,000. */
  readonly heartbeat?: number;
  /** For how many ms a channel outlives its last viewer, who may just be loading the page anew; default 10,000. */
  readonly grace?: number;
  /** Origins beyond this machine that may read, such as `"https://chart.example"`; default none. */
  readonly origins?: readonly string[];
}

/** Which series a page shows. */
export interface Selection {
  readonly pairAddress: string;
  readonly timeframe: Timeframe;
  readonly currency: Currency;
}

/** What a page may choose from. */
export interface Choices {
  readonly network: Network;
  readonly pairs: readonly string[];
  readonly timeframes: readonly Timeframe[];
  readonly currencies: readonly Currency[];
  readonly first: Selection;
}

/** Relays the streams of one client to any number of pages. */
export interface Gateway {
  /** The routes `/events` and `/choices`; others can be added. */
  readonly app: Hono;
  /** The channels that are open, by pair, timeframe and currency, and how many are connected to each. */
  viewers(): ReadonlyMap<string, number>;
  /** Ends all responses, and leaves no subscription and no timer. */
  close(): void;
}

const TIMEFRAMES = [
  ...(["1s", "10s", "30s", "1min", "5min", "10min", "30min"] as const),
  ...(["1h", "4h", "12h", "1d", "1w", "1M"] as const),
] satisfies readonly Timeframe[];
const CURRENCIES = ["usd", "native"] satisfies readonly Currency[];
/** A page holds more, so that it never knows less than its channel. */
const KEPT = 2_000;

interface SharedChannel {
  readonly channel: EventChannel;
  viewers: number;
  farewell: NodeJS.Timeout | undefined;
}

/** A gateway with one channel a series, opened for its first viewer and closed a while after the last has left. */
export function createGateway(options: GatewayOptions): Gateway {
  const { network, pairs, grace = 10_000, origins = [] } = options;
  const channels = new Map<string, SharedChannel>();
  const choices = choicesOf(options);

  const join = (request: Request, selection: Selection): Response => {
    const key = keyOf(selection);
    const shared = channels.get(key) ?? open(key, selection);
    shared.viewers += 1;
    clearTimeout(shared.farewell);
    let isHere = true;
    const leave = () => {
      if (!isHere) return;
      isHere = false;
      shared.viewers -= 1;
      if (shared.viewers > 0 || channels.get(key) !== shared) return;
      shared.farewell = setTimeout(() => end(key, shared), grace);
    };
    const { signal } = request;
    const response = shared.channel.respond(request);
    if (response.status !== 200 || response.body === null || signal.aborted) {
      leave();
      return response;
    }
    // The body of a request that was aborted may be left unread.
    signal.addEventListener("abort", leave, { once: true });
    return new Response(watchedUntilItEnds(response.body, leave), response);
  };

  const open = (key: string, selection: Selection): SharedChannel => {
    // Where a stream fails, its channel tells whoever listens; the next one who comes gets a new channel.
    const forget = () => {
      if (channels.get(key) === shared) channels.delete(key);
    };
    const channel = createEventChannel({
      ...streamsOf(options, { network, ...selection }, forget),
      keep: KEPT,
      heartbeat: options.heartbeat ?? 5_000,
    });
    const shared: SharedChannel = { channel, viewers: 0, farewell: undefined };
    channels.set(key, shared);
    return shared;
  };

  const end = (key: string, shared: SharedChannel) => {
    clearTimeout(shared.farewell);
    channels.delete(key);
    shared.channel.close();
  };

  const app = new Hono();
  app.use(async (context, next) => {
    const refusal = refusalOf(context, origins);
    if (refusal !== undefined) return context.text(refusal, 403);
    return next();
  });
  app.use(
    cors({
      origin: (origin) => origin,
      allowMethods: ["GET"],
      allowHeaders: ["Last-Event-ID"],
    }),
  );
  for (const path of ["/choices", "/events"]) {
    app.use(path, async (context, next) => {
      if (isFromOutside(context)) return context.text("This site is not let in", 403);
      if (context.req.method !== "GET")
        return context.text("Only GET is answered here", 405, { allow: "GET" });
      return next();
    });
  }
  app.get("/choices", (context) => context.json(choices, 200, { "cache-control": "no-store" }));
  app.get("/events", (context) => {
    const { pair, timeframe, currency } = context.req.query();
    const selection = {
      pairAddress: pairs.find((one) => one === pair),
      timeframe: TIMEFRAMES.find((one) => one === timeframe),
      currency: CURRENCIES.find((one) => one === currency),
    };
    return isComplete(selection)
      ? join(context.req.raw, selection)
      : context.text("pair, timeframe and currency have to be among /choices", 400);
  });

  return {
    app,
    viewers: () => new Map([...channels].map(([key, { viewers }]) => [key, viewers])),
    close: () => {
      for (const [key, shared] of channels) end(key, shared);
    },
  };
}

/** As `viewers` has it. */
export function keyOf({ pairAddress, timeframe, currency }: Selection): string {
  return `${pairAddress} ${timeframe} ${currency}`;
}

function streamsOf(options: GatewayOptions, series: Series, onFailure: () => void) {
  const { client, every, snipersEvery, revisionWindow, history = 300 } = options;
  const { network, pairAddress } = series;
  const watch = {
    ...series,
    since: { candles: history },
    ...(every === undefined ? {} : { every }),
    ...(revisionWindow === undefined ? {} : { revisionWindow }),
  };
  const failing = <T>(source: Observable<T>) => source.pipe(tap({ error: onFailure }));
  const streams = {
    candles: failing(watchCandles(client, watch)),
    status: failing<FeedStatus>(watchFeedStatus(client, watch)),
  };
  if (network === "devnet") return streams;
  const sniperWatch = snipersEvery === undefined ? { pairAddress } : { pairAddress, every: snipersEvery };
  // A pair without a sniper report is a chart without a table.
  const snipers = watchSnipers(client, sniperWatch).pipe(catchError(() => EMPTY));
  return { ...streams, snipers };
}

function choicesOf({ network, pairs, first }: GatewayOptions): Choices {
  const [pairAddress] = pairs;
  if (pairAddress === undefined) throw new Error("A gateway needs at least one pair");
  return {
    network,
    pairs,
    timeframes: TIMEFRAMES,
    currencies: CURRENCIES,
    first: { pairAddress, timeframe: "10s", currency: "usd", ...first },
  };
}

/**
 * Why a request is not answered; `undefined` where it is.
 *
 * A page of another site must not read through the visitor's browser, neither by its own name nor by one that it has
 * pointed at this machine.
 */
function refusalOf({ req }: Context, origins: readonly string[]): string | undefined {
  const isAllowed = (origin: string | undefined) =>
    origin !== undefined && (isLoopback(origin) || origins.includes(origin));
  const [origin, host] = [req.header("origin"), req.header("host")];
  if (origin !== undefined && !isAllowed(originOf(origin))) return "This origin is not let in";
  const hosts = ["http", "https"].map((scheme) => originOf(`${scheme}://${host}`));
  return hosts.some(isAllowed) ? undefined : "This host is not known here";
}

/**
 * Whether a page of another site asks without telling its name, as for an image: it could read nothing, but a channel
 * would be opened. Whoever tells an origin has been judged by that.
 */
function isFromOutside({ req }: Context): boolean {
  const site = req.header("sec-fetch-site") ?? "none";
  return req.header("origin") === undefined && site !== "same-origin" && site !== "none";
}

function isComplete(
  selection: {
    [K in keyof Selection]: Selection[K] | undefined;
  },
): selection is Selection {
  return Object.values(selection).every((part) => part !== undefined);
}
