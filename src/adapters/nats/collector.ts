import type { Msg } from "@nats-io/transport-node";
import { type Subscriber, Subscription } from "rxjs";
import { type Client, coreOf } from "../../client/core.js";
import type { Metering, RunningCollector, Told } from "../../client/metering.js";
import { callAfter } from "../../client/timers.js";
import { PairstreamError } from "../../errors.js";
import type { CollectorActivity } from "./activity.js";
import { AskedFeeds } from "./asked-feeds.js";
import type { CollectedFeed } from "./feed-requests.js";
import { type CollectingMeans, FeedRun } from "./feed-run.js";
import { Gate } from "./gate.js";
import { Lanes, MESSAGES_AT_ONCE } from "./lanes.js";
import {
  firstEpoch,
  type GroupRules,
  hashOf,
  type Lease,
  nextMove,
  PARTS,
  quietFor,
  releasedLease,
  type Sighting,
  sight,
  UNSEEN,
} from "./lease.js";
import { LeaseBucket } from "./lease-bucket.js";
import type { NatsConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import { failureOver, persist, Store, serverFailure } from "./store.js";
import { aliveSubject, type FeedSubjects, feedsSubject, leadsSubject } from "./subjects.js";

/** The checked options of a collector. */
export interface CollectorSetup {
  readonly connection: NatsConnection;
  readonly client: Client;
  readonly settings: NatsSettings;
  readonly group: string;
  readonly rules: GroupRules;
  /** The feeds of the list, by the key of their subjects. */
  readonly feeds: ReadonlyMap<string, CollectedFeed>;
}

/** After so many writes in a row that came too late, the next one waits for its turn. */
const WRITES_AT_ONCE = 3;
/** How long the leader of a group may take to answer, in ms. */
const ANSWER_TIMEOUT = 1_000;

type Without<A, K extends keyof A> = A extends unknown ? Omit<A, K> : never;

/** One of the collectors of a group. It leads the group or stands by. */
export class Collector implements RunningCollector {
  readonly #setup: CollectorSetup;
  readonly #subscriber: Subscriber<CollectorActivity>;
  readonly #metering: Metering;
  readonly #gate: Gate;
  readonly #list: number;
  readonly #lanes = new Lanes(MESSAGES_AT_ONCE);
  readonly #running = new Subscription();
  readonly #stop = new AbortController();
  /** What the feeds of one stream share, by stream. */
  readonly #means = new Map<string, CollectingMeans>();
  /** What runs while this collector leads, by feed. */
  readonly #runs = new Map<string, { readonly run: FeedRun; readonly epoch: number }>();
  /** What there is once the streams are open. `id`: the name in the lease, and for readers who ask whether it lives. */
  #opened:
    | { readonly store: Store; readonly id: string; readonly bucket: LeaseBucket; readonly asked: AskedFeeds }
    | undefined;
  #timer = Subscription.EMPTY;
  /** The look at the lease that is under way, or was last. */
  #turn: Promise<unknown> = Promise.resolve();
  #isLooking = false;
  /** Whether a holder was heard to leave since the last look began. */
  #isLeft = false;
  #seen: Sighting = UNSEEN;
  /** The lease as this collector has written it last, while nobody else has. */
  #written: { readonly lease: Lease; readonly revision: number } | undefined;
  #held: number | undefined;
  /** The term of the leader whose list was compared last. */
  #leader: number | undefined;
  #isLeading: boolean | undefined;
  #epoch = 0;
  #leadership = new Subscription();

  constructor(setup: CollectorSetup, subscriber: Subscriber<CollectorActivity>) {
    const { client } = setup;
    this.#setup = setup;
    this.#subscriber = subscriber;
    this.#metering = coreOf(client).metering;
    this.#gate = new Gate(client);
    this.#list = hashOf([this.group, ...[...setup.feeds.keys()].sort()].join());
  }

  get group(): string {
    return this.#setup.group;
  }

  get isLeading(): boolean {
    return this.#isLeading === true && this.#gate.mayAct;
  }

  start(): void {
    this.#metering.collectors.add(this);
    this.#meter({ type: "collector" });
    this.#running.add(() => this.#metering.collectors.delete(this));
    this.#open().then(
      () => this.#opened && this.#tick(),
      (error) => this.#fail(error),
    );
  }

  /** Ends all work at once. Resolves once the others know, if they can be reached. */
  async stop(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#timer.unsubscribe();
    const isQuiet = this.#gate.isOpen;
    this.#rest();
    this.#gate.shut();
    this.#running.unsubscribe();
    // A lease that is on its way would name this collector again.
    await this.#turn.catch(() => {});
    await this.#leave(isQuiet).catch(() => {});
  }

  async #leave(isQuiet: boolean): Promise<void> {
    if (this.#opened === undefined) return;
    const { bucket, id } = this.#opened;
    const { lease, revision } = await bucket.read();
    if (lease?.holder === id) await bucket.write(releasedLease(lease, isQuiet), revision);
  }

  async #open(): Promise<void> {
    const { connection, settings, group, feeds } = this.#setup;
    const store = await Store.open(connection);
    const id = store.library.nuid.next();
    for (const { feed } of feeds.values()) await this.#equip(feed, store, id);
    if (this.#stop.signal.aborted) return;
    const trouble = store.troubleWith(settings.replicas);
    if (trouble !== undefined) this.#tellTrouble(trouble);
    const bucket = new LeaseBucket(store, settings, group);
    const asked = new AskedFeeds({
      bucket,
      name: settings.name,
      listed: feeds,
      equip: (feed) => this.#equip(feed, store, id),
      isLeading: () => this.isLeading,
      trouble: (error) => this.#tellTrouble(error),
    });
    this.#opened = { store, id, bucket, asked };
    this.#running.add(this.#answer(aliveSubject(settings.name, id), (key) => this.#pulse(key)));
    const watching = bucket.watch(() => {
      // Those who stand by look at the lease at once.
      this.#isLeft = true;
      if (this.#isLeading === false && !this.#isLooking) this.#tickAfter(this.#now(), 0);
    });
    this.#running.add(() => watching.unsubscribe());
  }

  /** Sets up what the feeds of a stream need, if it is not there yet. */
  async #equip(feed: FeedSubjects, store: Store, id: string): Promise<void> {
    if (this.#means.has(feed.stream)) return;
    const { settings } = this.#setup;
    const ensureStream = () => store.ensureStream(feed, settings);
    const retention = await this.#persist(store, ensureStream);
    this.#means.set(feed.stream, {
      store,
      scheduler: settings.scheduler,
      client: this.#gate.client,
      publisher: id,
      lanes: this.#lanes,
      retention,
      ensureStream,
      mayWrite: () => this.#gate.mayAct,
      tell: (outcome, error) => {
        this.#meter({ type: "message", outcome });
        if (outcome === "retried") this.#tellTrouble(error);
      },
    });
  }

  #persist<T>(store: Store, ask: () => Promise<T>): Promise<T> {
    const { scheduler } = this.#setup.settings;
    const onTrouble = (error: unknown) => this.#tellTrouble(error);
    return persist(store, { scheduler, signal: this.#stop.signal, onTrouble }, ask);
  }

  #answer(subject: string, answerTo: (question: string) => string | Promise<string>): Subscription {
    const answer = async (message: Msg) => {
      message.respond(await answerTo(message.string()));
    };
    const answering = this.#setup.connection.subscribe(subject, {
      callback: (error, message) => {
        // Where the connection is closed, nobody can be told.
        if (error === null) answer(message).catch(() => {});
      },
    });
    return new Subscription(() => answering.unsubscribe());
  }

  /** Up to where a feed is stored: nothing for one that it does not work on. */
  #pulse(key: string): string {
    const pulse = this.isLeading ? this.#runs.get(key)?.run.pulse : undefined;
    return pulse === undefined ? "" : JSON.stringify(pulse);
  }

  /** Looks at the lease again and again, and renews it while it leads. */
  async #tick(): Promise<void> {
    const begun = this.#now();
    this.#isLooking = true;
    this.#isLeft = false;
    try {
      const turn = this.#look();
      this.#turn = turn;
      await turn;
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (!this.#opened!.store.isPassing(error)) {
        this.#fail(error);
        return;
      }
      this.#written = undefined;
      this.#tellTrouble(error);
    }
    this.#isLooking = false;
    const isOver = this.#isLeft && this.#isLeading === false;
    if (!this.#stop.signal.aborted)
      this.#tickAfter(begun, isOver ? 0 : this.#setup.rules.lease * PARTS.renew);
  }

  #tickAfter(begun: number, wait: number): void {
    this.#timer.unsubscribe();
    this.#timer = callAfter(this.#setup.settings.scheduler, begun, wait, () => void this.#tick());
  }

  async #look(): Promise<void> {
    const { rules } = this.#setup;
    const { bucket, id } = this.#opened!;
    for (let writes = 0; writes < WRITES_AT_ONCE; writes++) {
      const { lease, revision } = this.#written ?? (await bucket.read());
      const isLed = lease === undefined && !this.#seen.hasMoved && (await this.#isLed());
      if (this.#stop.signal.aborted) return;
      const now = this.#now();
      this.#seen = sight(this.#seen, lease, isLed, now, rules);
      const { mayAct, setBacks } = this.#gate;
      const self = { id, rules, held: this.#held, mayAct };
      const move = nextMove(lease, this.#seen, self, now);
      if (move === "wait" || move.isTaken) this.#giveUp();
      if (move === "wait") return this.#standBy(lease);
      this.#written = undefined;
      const written = await bucket.write({ ...move.lease, list: this.#list }, revision);
      if (this.#stop.signal.aborted) return;
      if (written === undefined) continue;
      this.#written = { lease: move.lease, revision: written };
      this.#held = move.lease.term;
      if (move.isTaken) this.#gate.shutFor(quietFor(rules, move.isQuiet));
      // If the clock was set back meanwhile, it is not known how long this lease has lasted. The next renewal says it.
      if (this.#gate.setBacks === setBacks)
        this.#gate.extend(now + rules.lease * PARTS.act, () => this.#rest());
      if (this.#gate.mayAct) this.#lead();
      return;
    }
  }

  /** Whether somebody leads the group although there is no lease; a question that is lost says so, too. */
  async #isLed(): Promise<boolean> {
    const { connection, settings, group } = this.#setup;
    try {
      await connection.request(leadsSubject(settings.name, group), "", { timeout: ANSWER_TIMEOUT });
      return true;
    } catch (error) {
      return !this.#opened!.store.isUnanswered(error);
    }
  }

  /** Works on all feeds, and goes on with those that it works on already. */
  #lead(): void {
    const { name } = this.#setup.settings;
    if (this.#isLeading !== true) {
      this.#isLeading = true;
      this.#meter({ type: "lease", change: "taken" });
      this.#tell({ type: "leading" });
      this.#leadership = this.#answer(leadsSubject(name, this.group), () => "");
      this.#leadership.add(this.#answer(feedsSubject(name, this.group), (asked) => this.#change(asked)));
    }
    for (const { run } of this.#runs.values()) run.resume();
    this.#keepUp();
    this.#learn();
  }

  /** Learns what the group was asked for. Who stands by does so, too: it is lost only with the last one that knows it. */
  #learn(): void {
    const { asked } = this.#opened!;
    const learned = () => this.isLeading && this.#keepUp();
    asked.learn().then(learned, (error) => this.#stop.signal.aborted || this.#tellTrouble(error));
  }

  /** Works on what is wanted now, and leaves what is not. */
  #keepUp(): void {
    for (const [key, { run }] of this.#runs) {
      if (this.#wanted(key) !== undefined) continue;
      run.retire(() => {
        if (this.#runs.get(key)?.run === run) this.#end(key);
      });
    }
    for (const feeds of [this.#setup.feeds, this.#opened!.asked.feeds])
      for (const key of feeds.keys()) if (!this.#runs.has(key)) this.#begin(key);
  }

  /** A feed that is wanted; the options of the list count before those that were asked for. */
  #wanted(key: string): CollectedFeed | undefined {
    return this.#setup.feeds.get(key) ?? this.#opened!.asked.feeds.get(key);
  }

  /** Takes up and leaves feeds for whoever asks for it. */
  async #change(request: string): Promise<string> {
    const answer = await this.#opened!.asked.answer(request);
    if (this.isLeading) this.#keepUp();
    return answer;
  }

  /** Ends the work on all feeds. The lease may still be its own. */
  #rest(): void {
    for (const key of [...this.#runs.keys()]) this.#end(key);
    if (!this.#isLeading) return;
    this.#meter({ type: "lease", change: "given-up" });
    this.#leadership.unsubscribe();
    this.#standBy();
  }

  /** `lease`: that of the leader. While there is none, this one writes nothing: a leader writes first what was lost. */
  #standBy(lease?: Lease): void {
    if (this.#isLeading !== false) {
      this.#isLeading = false;
      if (this.#stop.signal.aborted) return;
      this.#tell({ type: "standing-by" });
    }
    if (lease === undefined) return;
    const { term, list = this.#list } = lease;
    if (term !== this.#leader && list !== this.#list)
      this.#tellTrouble(new PairstreamError("The leader has another list of feeds"));
    this.#leader = term;
    this.#learn();
  }

  /** Takes the lease for another's. */
  #giveUp(): void {
    this.#rest();
    this.#gate.shut();
    this.#held = undefined;
    this.#written = undefined;
  }

  #begin(key: string): void {
    const { feed, watch } = this.#wanted(key)!;
    this.#epoch = Math.max(this.#epoch + 1, firstEpoch(this.#held!, this.#list));
    const epoch = this.#epoch;
    const run: FeedRun = new FeedRun({ feed, watch }, this.#means.get(feed.stream)!, epoch, {
      failed: (error) => {
        this.#meter({ type: "trouble", what: "feed" });
        this.#tell({ type: "failed", feed: key, error });
      },
      again: () => {
        this.#end(key);
        if (this.#wanted(key) !== undefined) this.#begin(key);
      },
      // By another group that has the feed, or by its own, if the lease was lost and this collector's clock is behind.
      outranked: (later) => {
        this.#end(key);
        // The next one is later still: the next renewal begins it.
        this.#epoch = Math.max(this.#epoch, later);
        this.#tellTrouble(new PairstreamError(`Another collector tells of ${key}, too`));
      },
      trouble: (error) => this.#tellTrouble(error),
    });
    this.#runs.set(key, { run, epoch });
    this.#tell({ type: "started", feed: key, epoch });
    run.start();
  }

  #end(key: string): void {
    const { run, epoch } = this.#runs.get(key)!;
    run.stop();
    this.#runs.delete(key);
    this.#tell({ type: "stopped", feed: key, epoch });
  }

  #tellTrouble(cause: unknown): void {
    const error = serverFailure(this.#setup.connection, cause);
    this.#meter({ type: "trouble", what: "connection" });
    this.#tell({ type: "trouble", error });
  }

  #meter(told: Without<Extract<Told, { group: string }>, "group">): void {
    this.#metering.tell(() => ({ ...told, group: this.group }));
  }

  #tell(activity: Without<CollectorActivity, "at">): void {
    this.#subscriber.next(Object.freeze({ ...activity, at: this.#now() }));
  }

  #now(): number {
    return this.#setup.settings.scheduler.now();
  }

  #fail(cause: unknown): void {
    if (this.#stop.signal.aborted) return;
    const { connection } = this.#setup;
    this.#subscriber.error(failureOver(connection, "The collector cannot go on", cause));
  }
}
