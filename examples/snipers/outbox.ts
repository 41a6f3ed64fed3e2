import type { SniperLook } from "pairstream";
import type { Alert } from "./alerts.js";

/** What of a look is kept, so that the next start goes on from there. */
export type KeptLook = Pick<SniperLook, "pairAddress" | "blocksAfterCreation" | "report">;

export interface OutboxState {
  /** The last look at each pair, by `keyOf`. */
  readonly looks: Readonly<Record<string, KeptLook>>;
  /** The alerts that nobody was told of yet, in their order. */
  readonly waiting: readonly Alert[];
  /** The ids of those that were told last, the newest at the end. */
  readonly told: readonly string[];
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
 * Alerts that wait to be told. A look and its alerts are written at once, before anybody is told; an alert is marked after it was
 * told. So whatever ends the process, no alert is lost, and only the one that was being told is told once more.
 */
export class Outbox {
  #state: OutboxState;
  readonly #file: OutboxFile;

  constructor(file: OutboxFile) {
    this.#file = file;
    this.#state = file.read();
  }

  get waiting(): readonly Alert[] {
    return this.#state.waiting;
  }

  /** The look that was kept last. */
  knownOf(query: Omit<KeptLook, "report">): KeptLook | undefined {
    return this.#state.looks[keyOf(query)];
  }

  /** Keeps a look with its alerts; gives those that have to be told now. */
  take(look: KeptLook, alerts: readonly Alert[]): readonly Alert[] {
    const { looks, waiting, told } = this.#state;
    const known = new Set([...told, ...waiting.map(({ id }) => id)]);
    const fresh = alerts.filter(({ id }) => !known.has(id));
    const { pairAddress, blocksAfterCreation, report } = look;
    const kept = { pairAddress, ...(blocksAfterCreation !== undefined && { blocksAfterCreation }), report };
    this.#write({ looks: { ...looks, [keyOf(look)]: kept }, waiting: [...waiting, ...fresh], told });
    return fresh;
  }

  /** Marks an alert as told. */
  mark({ id }: Alert): void {
    const { looks, waiting, told } = this.#state;
    const rest = waiting.filter((alert) => alert.id !== id);
    this.#write({ looks, waiting: rest, told: [...told, id].slice(-REMEMBERED) });
  }

  #write(state: OutboxState): void {
    this.#file.write(state);
    this.#state = state;
  }
}
