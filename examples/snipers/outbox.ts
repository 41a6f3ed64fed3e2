import type { SniperLook } from "pairstream";
import type { Alert } from "./alerts.js";

/** What of a look is kept, so that the next start goes on from there. */
export type KeptLook = Pick<SniperLook, "pairAddress" | "blocksAfterCreation" | "report">;

/** An alert on its way to one receiver. */
export interface Letter {
  readonly to: string;
  readonly alert: Alert;
}

export interface OutboxState {
  /** The last look at each pair, by `keyOf`. */
  readonly looks: Readonly<Record<string, KeptLook>>;
  /** What was not delivered yet, in its order. */
  readonly waiting: readonly Letter[];
  /** The ids of the last alerts, the newest at the end. */
  readonly ids: readonly string[];
}

/** Where the state is kept. What was written is there after a crash. */
export interface OutboxFile {
  read(): OutboxState;
  write(state: OutboxState): void;
}

/** A sale that a fork takes back and brings again is told once, as long as not so many others came between. */
const REMEMBERED = 1_000;

const keyOf = ({ pairAddress, blocksAfterCreation }: Omit<KeptLook, "report">) =>
  `${pairAddress} ${blocksAfterCreation ?? "default"}`;

/**
 * Letters that wait to be delivered. A look and its letters are written at once, before anything is delivered; a letter is marked
 * after it was. So whatever ends the process, no alert is lost, and each receiver may get only that one again which was on its way.
 */
export class Outbox {
  #state: OutboxState;
  readonly #file: OutboxFile;
  readonly #receivers: readonly string[];

  constructor(file: OutboxFile, receivers: readonly string[]) {
    this.#file = file;
    this.#receivers = receivers;
    this.#state = file.read();
  }

  get waiting(): readonly Letter[] {
    return this.#state.waiting;
  }

  /** The look that was kept last. */
  knownOf(query: Omit<KeptLook, "report">): KeptLook | undefined {
    return this.#state.looks[keyOf(query)];
  }

  /** Keeps a look with its alerts; gives the letters that have to be delivered now, one to each receiver. */
  take(look: KeptLook, alerts: readonly Alert[]): readonly Letter[] {
    const { looks, waiting, ids } = this.#state;
    const known = new Set(ids);
    const fresh = alerts.filter(({ id }) => !known.has(id));
    const letters = fresh.flatMap((alert) => this.#receivers.map((to) => ({ to, alert })));
    const { pairAddress, blocksAfterCreation, report } = look;
    const kept = { pairAddress, ...(blocksAfterCreation !== undefined && { blocksAfterCreation }), report };
    this.#write({
      looks: { ...looks, [keyOf(look)]: kept },
      waiting: [...waiting, ...letters],
      ids: [...ids, ...fresh.map(({ id }) => id)].slice(-REMEMBERED),
    });
    return letters;
  }

  /** Marks a letter as delivered. */
  mark({ to, alert }: Letter): void {
    const isOther = (letter: Letter) => letter.to !== to || letter.alert.id !== alert.id;
    this.#write({ ...this.#state, waiting: this.#state.waiting.filter(isOther) });
  }

  #write(state: OutboxState): void {
    this.#file.write(state);
    this.#state = state;
  }
}
