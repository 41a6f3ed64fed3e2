import {
  type Candle,
  createClient,
  type FetchLike,
  fetchCandles,
  type Series,
  VirtualClock,
} from "pairstream";
import {
  createPairService,
  type SwapSource,
  simulatedMarket,
  unsettled,
  withFaults,
} from "pairstream/service";
import { lastValueFrom, toArray } from "rxjs";
import { type Follower, MINUTE, SERVICE, type Sighting } from "./followers.js";

/** A stretch of a market, which is the same for all who follow it. */
export interface Stretch {
  readonly seed: number;
  /** When they begin, in ms after the start of a minute. */
  readonly phase: number;
  readonly minutes: number;
}

/** What became of one candle, or of one that was taken for one; delays in ms after its minute was over. */
export interface Fate {
  /** Until it was first there as closed. */
  readonly seenAfter: number | undefined;
  /** Until it was there as it is for good. */
  readonly rightAfter: number | undefined;
  /** Whether the service has such a candle in the end. */
  readonly isReal: boolean;
}

export interface Trial {
  readonly fates: readonly Fate[];
  /** Until the end of the stretch. */
  readonly requests: number;
  /** How many the service has in the end. */
  readonly candles: number;
}

/** A sighting, and when it was. */
type Told = Sighting & { readonly at: number };

const START = Date.UTC(2026, 0, 1);
/** ms from one end of the connection to the other. */
const LATENCY = 40;
/** Minutes after the stretch in which nothing fails: what is ever to be mended is mended by then. */
const REST = 15;
/** Of each request. */
const RATES = { "5xx": 0.01, reset: 0.005, hang: 0.002, html: 0.002, cutOff: 0.002, delay: 0.01 };

export async function trialOf(follower: Follower, { seed, phase, minutes }: Stretch): Promise<Trial> {
  const clock = new VirtualClock(START + phase);
  const market = simulatedMarket({ seed, createdAt: START - 30 * MINUTE });
  const source = unsettled(market, { seed });
  const { fetch } = createPairService({ source, clock: () => clock.now() });
  const series: Series = {
    network: "mainnet",
    pairAddress: market.pairs[0]!,
    timeframe: "1min",
    currency: "usd",
  };
  let requests = 0;
  const distant: FetchLike = async (url, init) => {
    requests += 1;
    await passing(clock, LATENCY);
    const answer = await fetch(url, init);
    await passing(clock, LATENCY);
    return answer;
  };
  const end = START + minutes * MINUTE;
  const faulty = withFaults(distant, { seed, scheduler: clock, rates: RATES, until: end });

  const sightings = new Map<number, Told[]>();
  const stay = follower.follow(series, faulty, clock).subscribe((sighting) => {
    const others = sightings.get(sighting.timestamp) ?? [];
    sightings.set(sighting.timestamp, [...others, { ...sighting, at: clock.now() }]);
  });
  await clock.advanceTo(end);
  const spent = requests;
  await clock.advanceTo(end + REST * MINUTE);
  stay.unsubscribe();

  const real = await settledCandles(source, series, end);
  const places = [...new Set([...real.keys(), ...sightings.keys()])];
  const counted = places.filter((place) => place > START && place < end);
  return {
    requests: spent,
    candles: real.size,
    fates: counted.map((place) => fateOf(place + MINUTE, sightings.get(place) ?? [], real.get(place))),
  };
}

/** The candles of a stretch as they are for good, by timestamp. */
async function settledCandles(source: SwapSource, series: Series, end: number): Promise<Map<number, Candle>> {
  const later = new VirtualClock(end + 86_400_000);
  const { fetch } = createPairService({ source, clock: () => later.now() });
  const client = createClient({ baseUrl: SERVICE, apiKey: "key", fetch, scheduler: later, rateLimit: false });
  const candles = fetchCandles(client, { ...series, from: START + MINUTE, to: end });
  return new Map((await lastValueFrom(candles.pipe(toArray()))).map((each) => [each.timestamp, each]));
}

function fateOf(close: number, sightings: readonly Told[], candle: Candle | undefined): Fate {
  const isRight = (told: Told) =>
    told.candle === undefined ? candle === undefined : candle !== undefined && isSame(told.candle, candle);
  const lastWrong = sightings.findLastIndex((told) => !isRight(told));
  const [first, right] = [sightings[0], sightings[lastWrong + 1]];
  return {
    seenAfter: first && first.at - close,
    rightAfter: right && right.at - close,
    isReal: candle !== undefined,
  };
}

function isSame(a: Candle, b: Candle): boolean {
  const fields = ["timestamp", "open", "high", "low", "close", "volume", "swaps"] as const;
  return fields.every((field) => a[field] === b[field]);
}

function passing(clock: VirtualClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(() => resolve(), ms);
  });
}
