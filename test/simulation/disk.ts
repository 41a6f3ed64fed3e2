import type { Subscription } from "rxjs";
import { memoryStore } from "../../src/adapters/store/memory.js";
import type { CandleStore, Known, StoredCandles, StoreKey, StoreRange } from "../../src/contract/store.js";
import type { Candle, VirtualClock } from "../../src/index.js";
import type { Span } from "../../src/spans.js";
import { chanceOf } from "./draw.js";
import type { Machine } from "./machine.js";
import type { Plan } from "./plan.js";
import type { Ending, StoreFault, StoreOperation } from "./store-faults.js";

/** One call of a client to its store; times are of the run's clock. */
export interface StoreCall extends Span {
  readonly operation: StoreOperation;
  readonly key: StoreKey;
  /** As what is asked names it: pair, timeframe and currency in one. */
  readonly series: string;
  /** Of a write. */
  readonly candles: readonly Candle[];
  readonly at: number;
  /** How many exchanges the client had told of by then. */
  readonly order: number;
  /** Of a read: so many of the newest candles are asked for; all where absent. */
  readonly last: number | undefined;
  /** Absent where the process ended before. */
  ended: { readonly at: number; readonly isGood: boolean } | undefined;
  /** Of all calls that were carried out, in which order; absent where this one was not. */
  turn: number | undefined;
  /** What a read has given. */
  given: StoredCandles | undefined;
}

/** What a store holds of a series. */
export interface Held {
  readonly key: StoreKey;
  readonly candles: readonly Candle[];
  readonly covered: readonly Span[];
}

/** All that a process did with its store, and what that held before and after. */
export interface StoreLog {
  readonly calls: readonly StoreCall[];
  readonly before: ReadonlyMap<string, Held>;
  /** What was left of it when the process had ended. */
  readonly after: ReadonlyMap<string, Held>;
}

type Transaction =
  | { readonly key: StoreKey; readonly known: Known }
  | { readonly key: StoreKey; readonly forgotten: Span };

const ALL = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER };

/** What outlives the processes of a run: whole transactions, in the order in which they were made. */
export class Disk {
  readonly #plan: Plan;
  readonly #clock: VirtualClock;
  readonly #machine: Machine;
  readonly #transactions: Transaction[] = [];
  readonly #keys = new Map<string, StoreKey>();
  #kept = memoryStore();

  constructor(plan: Plan, clock: VirtualClock, machine: Machine) {
    this.#plan = plan;
    this.#clock = clock;
    this.#machine = machine;
  }

  /** A process that uses it; `told`: how many exchanges its client has told of by now. */
  async open(told: () => number): Promise<DiskProcess> {
    const { seed, world, faults } = this.#plan;
    const start = world.start;
    const troubles = faults.filter((fault) => fault.kind === "store fails" || fault.kind === "store slow");
    return new DiskProcess({
      disk: this,
      before: await this.held(),
      clock: this.#clock,
      machine: this.#machine,
      told,
      strike: (operation, id) => {
        const at = this.#clock.now() - start;
        return troubles.filter(
          (fault) =>
            at >= fault.from &&
            at < fault.until &&
            (!("operation" in fault) || fault.operation === operation) &&
            chanceOf(seed, fault.kind, fault.from, id) < fault.share,
        );
      },
      chance: (...parts) => chanceOf(seed, "disk", ...parts),
    });
  }

  async held(): Promise<ReadonlyMap<string, Held>> {
    const held = new Map<string, Held>();
    for (const [series, key] of this.#keys) held.set(series, { key, ...(await this.#kept.read(key, ALL)) });
    return held;
  }

  read(key: StoreKey, range: StoreRange): ReturnType<CandleStore["read"]> {
    return this.#kept.read(key, range);
  }

  apply(transaction: Transaction): Promise<void> {
    this.#keys.set(seriesOf(transaction.key), transaction.key);
    this.#transactions.push(transaction);
    return this.#write(transaction);
  }

  /** The last transactions are gone. */
  async lose(count: number): Promise<void> {
    if (count === 0) return;
    this.#transactions.splice(Math.max(0, this.#transactions.length - count));
    this.#kept = memoryStore();
    for (const transaction of this.#transactions) await this.#write(transaction);
  }

  #write(transaction: Transaction): Promise<void> {
    const { key } = transaction;
    if ("known" in transaction) return this.#kept.write(key, transaction.known);
    return this.#kept.forget(key, transaction.forgotten.from, transaction.forgotten.to);
  }
}

interface Call {
  readonly operation: StoreOperation;
  readonly key: StoreKey;
  readonly span: StoreRange;
  readonly candles?: readonly Candle[];
}

type Trouble = Exclude<StoreFault, { kind: "restart" }>;

interface ProcessOptions {
  readonly disk: Disk;
  readonly before: ReadonlyMap<string, Held>;
  readonly clock: VirtualClock;
  readonly machine: Machine;
  readonly told: () => number;
  /** What strikes a call, by its number. */
  strike(operation: StoreOperation, id: number): readonly Trouble[];
  chance(...parts: readonly (number | string)[]): number;
}

/** The store of one process; it does one thing after another, and nothing any more once the process has ended. */
export class DiskProcess implements CandleStore {
  readonly calls: StoreCall[] = [];
  readonly #options: ProcessOptions;
  /** What is under way. */
  readonly #pending = new Set<{
    readonly timer: Subscription;
    readonly transaction: Transaction | undefined;
    readonly call: StoreCall;
  }>();
  #turns = 0;
  #busyUntil = 0;
  #hasEnded = false;

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  get before(): ReadonlyMap<string, Held> {
    return this.#options.before;
  }

  read(key: StoreKey, range: StoreRange): ReturnType<CandleStore["read"]> {
    return this.#call({ operation: "read", key, span: range }, undefined, () =>
      this.#options.disk.read(key, range),
    );
  }

  write(key: StoreKey, known: Known): Promise<void> {
    return this.#change({ operation: "write", key, span: known, candles: known.candles }, { key, known });
  }

  forget(key: StoreKey, from: number, to: number): Promise<void> {
    const span = { from, to };
    return this.#change({ operation: "forget", key, span }, { key, forgotten: span });
  }

  /** The process ends: nothing that is called from now on is done. */
  async end(how: Ending, loses: number): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { disk, chance, clock } = this.#options;
    const share = how === "waits" ? 1 : how === "power cut" ? 0 : chance("torn", clock.now());
    const done = Math.round(share * this.#pending.size);
    for (const [at, { timer, transaction, call }] of [...this.#pending].entries()) {
      timer.unsubscribe();
      if (at >= done || transaction === undefined) continue;
      call.turn = this.#takeTurn();
      await disk.apply(transaction);
    }
    this.#pending.clear();
    await disk.lose(loses);
  }

  #change(asked: Call, transaction: Transaction): Promise<void> {
    return this.#call(asked, transaction, () => this.#options.disk.apply(transaction));
  }

  #call<T>(asked: Call, transaction: Transaction | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#hasEnded) return new Promise(() => {});
    const { clock, machine, strike, chance } = this.#options;
    const call = this.#note(asked);
    const id = this.calls.length;
    const now = clock.now();
    const struck = strike(asked.operation, id);
    const end = (isGood: boolean) => {
      call.ended = { at: clock.now(), isGood };
    };
    const failure = struck.find((fault) => fault.kind === "store fails");
    if (failure?.how === "throws") {
      end(false);
      throw new Error("the store is broken");
    }
    const slow = struck.reduce(
      (most, fault) => Math.max(most, fault.kind === "store slow" ? fault.by * chance("slow", id) : 0),
      0,
    );
    const due = Math.max(this.#busyUntil, now + Math.round(slow));
    const finish = async () => {
      try {
        if (failure !== undefined) throw new Error("the store is full");
        call.turn = this.#takeTurn();
        const result = await work();
        if (asked.operation === "read") call.given = result as StoredCandles;
        end(true);
        return result;
      } catch (error) {
        end(false);
        throw error;
      }
    };
    if (due <= now) return finish();
    this.#busyUntil = due;
    return new Promise<T>((resolve, reject) => {
      const timer = machine.deliver(due - now, () => {
        this.#pending.delete(entry);
        finish().then(resolve, reject);
      });
      const entry = { timer, transaction: failure === undefined ? transaction : undefined, call };
      this.#pending.add(entry);
    });
  }

  #takeTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  #note({ operation, key, span, candles = [] }: Call): StoreCall {
    const { from, to } = span;
    const { clock, told } = this.#options;
    const open = { ended: undefined, turn: undefined, given: undefined };
    const asked = { operation, key, series: seriesOf(key), from, to, candles, last: span.last };
    const call: StoreCall = { ...asked, at: clock.now(), order: told(), ...open };
    this.calls.push(call);
    return call;
  }
}

function seriesOf({ pairAddress, timeframe, currency }: StoreKey): string {
  return `${pairAddress} ${timeframe} ${currency}`;
}
