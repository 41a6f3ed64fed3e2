import * as z from "zod/mini";
import { checkWatch, WATCH_NAMES } from "../../candles/options.js";
import { SERIES_NAMES } from "../../contract/names.js";
import { ContractError, InvalidInputError } from "../../errors.js";
import { isCandleWatch } from "../../feed-status.js";
import { refuseKnown } from "../../snipers/known.js";
import { checkSniperWatch, SNIPER_WATCH_NAMES } from "../../snipers/watch.js";
import { checkWire, readWire } from "../wire/read.js";
import type { CollectedWatch } from "./feed-kinds.js";
import { VERSION } from "./message.js";
import { candleSubjects, type FeedSubjects, sniperSubjects } from "./subjects.js";

/** A feed that a group collects. */
export interface CollectedFeed {
  readonly feed: FeedSubjects;
  readonly watch: CollectedWatch;
}

/** Checks the options of a feed. Throws an `InvalidInputError`. */
export function checkFeed(name: string, watch: CollectedWatch): CollectedFeed {
  if (!isCandleWatch(watch)) {
    refuseKnown(watch, "in a feed of a collector");
    return { feed: sniperSubjects(name, checkSniperWatch(watch).query), watch };
  }
  const { series, fillGaps } = checkWatch(watch);
  if (fillGaps) {
    const allowed = "false, because collectors publish the service's own candles";
    throw new InvalidInputError("fillGaps", allowed, "is true");
  }
  return { feed: candleSubjects(name, series), watch };
}

const version = z.literal(VERSION);
const watch = z.looseObject({});
const value = z.object({ version, feeds: z.array(watch) });
/** The options that this version knows: what a later one has added is left out. */
const known = z.object({
  ...Object.fromEntries(
    [...SERIES_NAMES, ...WATCH_NAMES, ...SNIPER_WATCH_NAMES].map((name) => [name, z.optional(z.unknown())]),
  ),
  since: z.optional(z.union([z.object({ candles: z.number() }), z.unknown()])),
});
const request = z.object({ version, add: z.optional(watch), remove: z.optional(z.string()) });
const answer = z.object({ version, changed: z.boolean(), refusal: z.optional(z.string()) });

/** The text of a question or an answer, or of the value that a bucket holds. */
export const withVersion = (said: FeedRequest | FeedAnswer | { readonly feeds: readonly CollectedWatch[] }) =>
  JSON.stringify({ version: VERSION, ...said });

/**
 * Reads what a group collects besides the list that its collectors were started with, a value of its bucket. Throws a
 * `ContractError` if it is not one of this version; a feed that is none is left to `refuse`.
 */
export function readAsked(
  text: string,
  name: string,
  refuse: (error: unknown) => void,
): ReadonlyMap<string, CollectedFeed> {
  const feeds = new Map<string, CollectedFeed>();
  for (const one of readWire(value, text).feeds) {
    try {
      const checked = checkFeed(name, checkWire(known, one) as unknown as CollectedWatch);
      feeds.set(checked.feed.key, checked);
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      refuse(new ContractError(["feeds"], error.message, { cause: error }));
    }
  }
  return feeds;
}

/** A question to the leader of a group: to collect a feed as well, or to leave one, by the key of its subjects. */
export interface FeedRequest {
  readonly add?: CollectedWatch | undefined;
  readonly remove?: string | undefined;
}

export interface FeedAnswer {
  /** Whether it collects something else than before. */
  readonly changed: boolean;
  /** Why it does not do what it was asked for. */
  readonly refusal?: string | undefined;
}

export const readRequest = (text: string): FeedRequest => readWire(request, text) as unknown as FeedRequest;

export const readAnswer = (text: string): FeedAnswer => readWire(answer, text);
