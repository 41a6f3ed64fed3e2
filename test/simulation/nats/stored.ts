import type { Ground, Packet } from "./jetstream.js";
import type { Kept, KeptMessages } from "./kept.js";
import { NAME, type NatsPlan } from "./plan.js";
import type { CollectorLife, Uncovered } from "./run-log.js";

const EXPECTED = "Nats-Expected-Last-Subject-Sequence";
/** What the library stores: candles, statuses and leases. A later version may store more beside that. */
const STORED = new RegExp(`^(${NAME}\\.candles\\..*\\.(\\d+|status)|\\$KV\\..*)$`);

/** Looks at what is stored. */
export class StoredWatch {
  /** Messages that do not say what they replace, and those of an earlier lease that replaced one of a later lease. */
  readonly unfenced: { readonly at: number; readonly what: string }[] = [];
  /** Changes of a candle that were stored under a revision that is not one higher than the one before. */
  readonly unordered: { readonly at: number; readonly what: string }[] = [];
  /** Statuses that were stored although a candle of the range that they cover was gone. */
  readonly uncovered: Uncovered[] = [];
  stored = 0;
  readonly #now: () => number;
  readonly #kept: () => KeptMessages | undefined;
  readonly #unknownBefore: (feed: string, epoch: number) => number;
  /** The candles that were stored and not removed, and when, by feed: what their subjects begin with. */
  readonly #candles = new Map<string, Map<number, number>>();

  /**
   * `kept`: what the stream of the candles keeps. `unknownBefore`: the interval before which whoever tells how a feed
   * stands under an epoch cannot know that candles are gone; none by default.
   */
  constructor(
    now: () => number,
    kept: () => KeptMessages | undefined,
    unknownBefore: (feed: string, epoch: number) => number = () => Number.NEGATIVE_INFINITY,
  ) {
    this.#now = now;
    this.#kept = kept;
    this.#unknownBefore = unknownBefore;
  }

  /** Notes a message that reaches the servers. */
  taken({ subject, headers }: Packet): void {
    if (!STORED.test(subject)) return;
    const expected = headers?.get(EXPECTED) ?? "";
    if (expected === "") this.unfenced.push({ at: this.#now(), what: `${subject}: may replace anything` });
  }

  readonly noteStored: Ground["noteStored"] = (kept, before) => {
    this.stored += 1;
    this.#noteCandles(kept);
    if (before === undefined || !kept.subject.startsWith(`${NAME}.`)) return;
    const at = this.#now();
    const [now, then] = [stampOf(kept.text), stampOf(before.text)];
    if (now.epoch < then.epoch) {
      this.unfenced.push({ at, what: `${kept.subject}: epoch ${now.epoch} replaces ${then.epoch}` });
    }
    const isOneLife = now.candle !== undefined && !then.isRemoval;
    if (isOneLife && now.revision - then.revision !== Number(now.candle !== then.candle)) {
      const what = `${kept.subject}: revision ${now.revision} replaces ${then.revision}`;
      this.unordered.push({ at, what });
    }
  };

  #noteCandles({ subject, text }: Kept): void {
    if (!STORED.test(subject) || !subject.startsWith(`${NAME}.`)) return;
    const feed = subject.slice(0, subject.lastIndexOf(".") + 1);
    const last = subject.slice(feed.length);
    const { removed, status, epoch } = JSON.parse(text);
    const candles = this.#candles.get(feed) ?? new Map<number, number>();
    this.#candles.set(feed, candles);
    if (last !== "status") {
      if (removed === true) candles.delete(Number(last));
      else candles.set(Number(last), this.#now());
      return;
    }
    const { coveredFrom, coveredUntil } = status;
    const unkept = [...candles].filter(
      ([at]) => coveredFrom <= at && at < coveredUntil && this.#kept()?.last(`${feed}${at}`) === undefined,
    );
    if (unkept.length === 0) return;
    const unknownBefore = this.#unknownBefore(feed.slice(0, -1), epoch);
    const gone = unkept.filter(([at]) => at >= unknownBefore);
    if (gone.length === 0) return;
    const told = gone.map(([timestamp, storedAt]) => ({ timestamp, storedAt }));
    this.uncovered.push({ at: this.#now(), subject, gone: told });
  }
}

/**
 * The interval before which the holder of a feed cannot know that candles have grown too old to be kept. Until the
 * service has answered it, it goes by its own clock, and that may be behind. `now`: the service's time.
 */
export function unknownBefore(
  { retention, interval }: NatsPlan,
  lives: readonly CollectorLife[],
  { feed, epoch, now }: { readonly feed: string; readonly epoch: number; readonly now: number },
): number {
  const isOfHolder = ({ activity }: CollectorLife["activities"][number]) =>
    activity.type === "started" && activity.feed === feed && activity.epoch === epoch;
  const holder = lives.findLast(({ activities }) => activities.some(isOfHolder));
  const isExcused = retention !== undefined && holder?.shown.length === 0;
  // What begins later would not be too old by the right clock either.
  return isExcused ? now - retention + interval : Number.NEGATIVE_INFINITY;
}

/** What a stored message says of its place, and of a candle if it is about one. */
function stampOf(text: string) {
  const { epoch = 0, revision = 0, candle, status, removed } = JSON.parse(text);
  const { open, high, low, close, volume, swaps } = candle ?? {};
  return {
    epoch,
    revision,
    candle: candle && JSON.stringify([open, high, low, close, volume, swaps, status, removed]),
    isRemoval: removed === true,
  };
}
