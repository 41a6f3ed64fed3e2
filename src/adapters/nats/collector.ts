import { Subject, type Subscriber, Subscription } from "rxjs";
import type { Client } from "../../client/core.js";
import { callAt } from "../../client/timers.js";
import { PairstreamError } from "../../errors.js";
import { type CollectingMeans, collectFeed } from "./collected-feed.js";
import type { CollectedWatch } from "./feed-kinds.js";
import { LeaseBucket } from "./lease-bucket.js";
import {
  countsAfter,
  emptyTable,
  type GroupRules,
  heldBy,
  type LeaseTable,
  nextMove,
  nothingSeen,
  PARTS,
  type Sightings,
  shareOf,
  sight,
  withoutCollector,
} from "./leases.js";
import { answerForLife } from "./liveness.js";
import type { NatsConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import { Lanes, MESSAGES_AT_ONCE, type Publication } from "./publisher.js";
import { SharedLimit } from "./shared-limit.js";
import { failureOver, openStream } from "./store.js";
import { type FeedSubjects, slotOf, streamsOf } from "./subjects.js";

/** What a collector does, for logs and meters. */
export type CollectorActivity =
  | {
      /** Which slots are its own has changed. */
      readonly type: "slots";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** The numbers of its slots, from 0. */
      readonly held: readonly number[];
    }
  | {
      /** It has begun to work on a feed, or has left it to others. */
      readonly type: "started" | "stopped";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** What the subjects of the feed begin with. */
      readonly feed: string;
      /** Of the lease under which it works: a whole number, higher for each later holder. */
      readonly epoch: number;
    }
  | {
      /** A feed has failed for good: retrying cannot mend it. It stays so as long as this collector has it. */
      readonly type: "failed";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** What the subjects of the feed begin with. */
      readonly feed: string;
      /** Why. */
      readonly error: unknown;
    }
  | {
      /** A newer message was there already, and stays. */
      readonly type: "superseded";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** The subject of the message. */
      readonly subject: string;
    }
  | {
      /** A stream or the leases could not be reached, or a message not stored, and it is tried again. */
      readonly type: "trouble";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** Why. */
      readonly error: unknown;
    };

/** What a collector is made with, checked. */
export interface CollectorSetup {
  readonly connection: NatsConnection;
  readonly client: Client;
  readonly settings: NatsSettings;
  readonly group: string;
  readonly rules: GroupRules;
  readonly feeds: ReadonlyMap<string, { readonly feed: FeedSubjects; readonly watch: CollectedWatch }>;
}

/** A slot that this collector works on. */
interface HeldSlot {
  readonly epoch: number;
  /** From when on its part of the rate limit may be used. */
  readonly countsFrom: number;
  readonly working: Subscription;
}

/** So many writes in a row may come too late before the next one waits for its time. */
const WRITES_AT_ONCE = 3;
const READERS_AT_ONCE = 32;

/** One of the collectors of a group: keeps its leases, and works on the feeds of the slots that it holds. */
export class Collector {
  readonly #setup: CollectorSetup;
  readonly #subscriber: Subscriber<CollectorActivity>;
  readonly #limit: SharedLimit;
  readonly #running = new Subscription();
  readonly #stop = new AbortController();
  readonly #held = new Map<number, HeldSlot>();
  /** Told when it may act again. */
  readonly #resumed = new Subject<void>();
  #timer = Subscription.EMPTY;
  #seen: Sightings = nothingSeen;
  /** The slots that were told of last. */
  #told = "";
  #id = "";
  #bucket: LeaseBucket | undefined;
  /** By stream. */
  readonly #means = new Map<string, CollectingMeans>();

  constructor(setup: CollectorSetup, subscriber: Subscriber<CollectorActivity>) {
    const { client, rules } = setup;
    this.#setup = setup;
    this.#subscriber = subscriber;
    const per = rules.limit?.per ?? 0;
    this.#limit = new SharedLimit(client, { share: (parts) => shareOf(rules, parts), per });
  }

  start(): void {
    this.#running.add(() => this.#limit.close());
    this.#open().then(
      () => this.#tick(),
      (error) => this.#fail(error),
    );
  }

  /** Ends all work at once; resolves once the others know that, if they can be reached. */
  async stop(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#timer.unsubscribe();
    for (const slot of [...this.#held.keys()]) this.#drop(slot);
    this.#running.unsubscribe();
    await this.#leave().catch(() => {});
  }

  async #open(): Promise<void> {
    const { connection, settings, group, feeds } = this.#setup;
    const { candles, snipers } = streamsOf(settings.name);
    const used = new Set([...feeds.values()].map(({ feed }) => feed.stream));
    const shared = { lanes: new Lanes(MESSAGES_AT_ONCE), readers: new Lanes(READERS_AT_ONCE) };
    for (const subjects of [candles, snipers].filter(({ stream }) => used.has(stream))) {
      const waiting = { signal: this.#stop.signal, onTrouble: (error: unknown) => this.#tellTrouble(error) };
      const { store, retention } = await openStream(connection, settings, subjects, waiting);
      this.#bucket ??= new LeaseBucket(store, settings, group);
      if (this.#id === "") this.#id = store.library.nuid.next();
      this.#means.set(subjects.stream, {
        ...shared,
        store,
        scheduler: settings.scheduler,
        client: this.#limit.client,
        publisher: this.#id,
        retention,
        resumed: this.#resumed,
        ensureStream: () => store.ensureStream(subjects, settings),
        mayPublish: () => this.#limit.mayAct(),
        tell: (publication) => this.#tellOf(publication),
        fail: (error) => this.#fail(error),
      });
    }
    if (!this.#stop.signal.aborted) this.#running.add(answerForLife(connection, settings.name, this.#id));
  }

  /** Shows a sign of life, every so often. */
  async #tick(): Promise<void> {
    const { settings, rules } = this.#setup;
    const { scheduler } = settings;
    const next = scheduler.now() + rules.lease * PARTS.renew;
    try {
      await this.#renew();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (!this.#means.values().next().value?.store.isPassing(error)) {
        this.#fail(error);
        return;
      }
      this.#tellTrouble(error);
    }
    if (!this.#stop.signal.aborted) this.#timer = callAt(scheduler, next, () => void this.#tick());
  }

  async #renew(): Promise<void> {
    const { settings, rules } = this.#setup;
    const { scheduler } = settings;
    for (let writes = 0; writes < WRITES_AT_ONCE; writes++) {
      const read = await this.#bucket!.read();
      if (this.#stop.signal.aborted) return;
      const now = scheduler.now();
      const before = this.#seen;
      this.#seen = sight(before, read.table ?? emptyTable(rules), now);
      const table = this.#agreed(read.table, before);
      if (table === undefined) return;
      this.#adopt(table);
      const held = new Map([...this.#held].map(([slot, { epoch }]) => [slot, epoch]));
      const move = nextMove(table, this.#seen, { id: this.#id, held }, now);
      // Others may take them as soon as that is written.
      for (const slot of move.released) this.#drop(slot);
      this.#count();
      const sent = scheduler.now();
      const isWritten = await this.#bucket!.write(move.table, read.revision);
      if (this.#stop.signal.aborted) return;
      if (!isWritten) continue;
      const couldAct = this.#limit.mayAct();
      this.#limit.actUntil(sent + rules.lease * PARTS.act);
      this.#adopt(move.table, "takes");
      if (!couldAct) this.#resumed.next();
      return;
    }
  }

  /** The table, where its rules are ours; `undefined` while others may go by other ones. */
  #agreed(table: LeaseTable | undefined, before: Sightings): LeaseTable | undefined {
    const { rules, group, settings } = this.#setup;
    if (table === undefined) return emptyTable(rules);
    if (isSame(table.rules, rules)) return table;
    this.#adopt(emptyTable(rules));
    for (const [id, beat] of Object.entries(table.beats)) {
      const known = before.beats.get(id);
      if (known !== undefined && known.beat !== beat) {
        const theirs = JSON.stringify(table.rules);
        throw new PairstreamError(`The collectors of group ${group} go by other rules: ${theirs}`);
      }
      const since = this.#seen.beats.get(id)?.since ?? 0;
      if (settings.scheduler.now() - since < table.rules.lease * PARTS.dead) return undefined;
    }
    return emptyTable(rules);
  }

  /** Gives up the slots that a table does not give us, and begins with those that it does. */
  #adopt(table: LeaseTable, mode?: "takes"): void {
    const { scheduler } = this.#setup.settings;
    const ours = heldBy(table, this.#id);
    for (const [slot, { epoch }] of [...this.#held]) if (ours.get(slot) !== epoch) this.#drop(slot);
    if (mode === "takes") {
      for (const slot of ours.keys()) if (!this.#held.has(slot)) this.#take(slot, table.slots[slot]!);
    }
    this.#count();
    const held = [...this.#held.keys()].sort((a, b) => a - b);
    if (mode !== "takes" || held.join() === this.#told) return;
    this.#told = held.join();
    this.#tell({ type: "slots", at: scheduler.now(), held: Object.freeze(held) });
  }

  #count(): void {
    this.#limit.hold([...this.#held.values()].map(({ countsFrom }) => countsFrom));
  }

  #take(slot: number, lease: LeaseTable["slots"][number]): void {
    const { epoch } = lease;
    const { settings, rules, feeds } = this.#setup;
    const { scheduler } = settings;
    const working = new Subscription();
    this.#held.set(slot, { epoch, working, countsFrom: scheduler.now() + countsAfter(rules, lease) });
    for (const { feed, watch } of feeds.values()) {
      if (slotOf(feed.key, rules.slots) !== slot) continue;
      const { key } = feed;
      this.#tell({ type: "started", at: scheduler.now(), feed: key, epoch });
      working.add(() => this.#tell({ type: "stopped", at: scheduler.now(), feed: key, epoch }));
      const fail = (error: unknown) => this.#tell({ type: "failed", at: scheduler.now(), feed: key, error });
      working.add(collectFeed(feed, watch, this.#means.get(feed.stream)!, epoch).subscribe({ error: fail }));
    }
  }

  #drop(slot: number): void {
    this.#held.get(slot)?.working.unsubscribe();
    this.#held.delete(slot);
  }

  async #leave(): Promise<void> {
    for (let writes = 0; writes < WRITES_AT_ONCE && this.#bucket !== undefined; writes++) {
      const { table, revision } = await this.#bucket.read();
      if (table === undefined || !(this.#id in table.beats)) return;
      if (await this.#bucket.write(withoutCollector(table, this.#id), revision)) return;
    }
  }

  #tellOf(publication: Publication): void {
    if (publication.type === "superseded") {
      const at = this.#setup.settings.scheduler.now();
      this.#tell({ type: "superseded", at, subject: publication.subject });
    } else if (publication.type === "retried") {
      this.#tellTrouble(publication.error);
    }
  }

  #tellTrouble(error: unknown): void {
    this.#tell({ type: "trouble", at: this.#setup.settings.scheduler.now(), error });
  }

  #tell(activity: CollectorActivity): void {
    this.#subscriber.next(Object.freeze(activity));
  }

  #fail(cause: unknown): void {
    if (this.#stop.signal.aborted) return;
    const { connection } = this.#setup;
    this.#subscriber.error(failureOver(connection, "The collectors cannot go on", cause));
  }
}

function isSame(a: GroupRules, b: GroupRules): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
