import { PairstreamError } from "../../errors.js";
import {
  type CollectedFeed,
  checkFeed,
  type FeedAnswer,
  readAsked,
  readRequest,
  withVersion,
} from "./feed-requests.js";
import type { LeaseBucket } from "./lease-bucket.js";
import type { FeedSubjects } from "./subjects.js";

/** What the feeds that a group was asked for need of its leader. */
export interface AskedMeans {
  readonly bucket: LeaseBucket;
  readonly name: string;
  /** The feeds of the list that it was started with. */
  readonly listed: ReadonlyMap<string, CollectedFeed>;
  /** Sets up what a feed needs. */
  equip(feed: FeedSubjects): Promise<void>;
  isLeading(): boolean;
  /** It goes on in spite of it. */
  trouble(error: unknown): void;
}

/** After so many writes in a row that came too late, whoever asks is told to ask again. */
const WRITES_AT_ONCE = 3;

/**
 * The feeds that a group was asked for besides its list, as a collector knows them. They are stored beside the lease before anybody works
 * on them, so that whoever leads next knows them, too.
 */
export class AskedFeeds {
  readonly #means: AskedMeans;
  #text = "";
  #feeds: ReadonlyMap<string, CollectedFeed> = new Map();
  /** Looks and changes take turns. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(means: AskedMeans) {
    this.#means = means;
  }

  /** By the key of their subjects. */
  get feeds(): ReadonlyMap<string, CollectedFeed> {
    return this.#feeds;
  }

  /** Learns what others have stored. */
  learn(): Promise<unknown> {
    return this.#inTurn(() => this.#read());
  }

  /** Does what a request says, and gives the answer to it. */
  async answer(request: string): Promise<string> {
    const refused = (cause: unknown): FeedAnswer => {
      return { changed: false, refusal: cause instanceof Error ? cause.message : String(cause) };
    };
    return withVersion(await this.#inTurn(() => this.#change(request)).catch(refused));
  }

  async #change(request: string): Promise<FeedAnswer> {
    const { bucket, name, listed, equip, isLeading } = this.#means;
    const { add, remove } = readRequest(request);
    const added = add && checkFeed(name, add);
    if (remove !== undefined && listed.has(remove)) {
      throw new PairstreamError(`${remove} stands in the list that its collectors were started with`);
    }
    if (added !== undefined) await equip(added.feed);
    for (let writes = 0; writes < WRITES_AT_ONCE; writes++) {
      const revision = await this.#read();
      const feeds = new Map(this.#feeds);
      const key = added?.feed.key ?? remove!;
      const isThere = feeds.has(key) || listed.has(key);
      if (isThere === (added !== undefined)) return { changed: false };
      if (added === undefined) feeds.delete(key);
      else feeds.set(key, added);
      const text = withVersion({ feeds: Array.from(feeds.values(), ({ watch }) => watch) });
      if (!isLeading()) break;
      if ((await bucket.writeAsked(text, revision)) === undefined) continue;
      this.#text = text;
      this.#feeds = feeds;
      return { changed: true };
    }
    throw new PairstreamError("it has just changed: ask again");
  }

  /** Reads what is stored, and gives the revision of it. What was lost with the bucket is written again. */
  async #read(): Promise<number> {
    const { bucket, name, equip, trouble } = this.#means;
    const { text, revision } = await bucket.readAsked();
    if (text === this.#text) return revision;
    if (text === "") return (await bucket.writeAsked(this.#text, revision)) ?? revision;
    const feeds = readAsked(text, name, trouble);
    for (const { feed } of feeds.values()) await equip(feed);
    this.#text = text;
    this.#feeds = feeds;
    return revision;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}
