import type { FeedStatus } from "pairstream";
import { instantText, timeText } from "./figures.js";

const NAMES = { starting: "Starting", live: "Live", stalled: "Stalled" } as const;

/** How the stream stands, in words, and as `data-state` of the element. */
export class StatusBadge {
  readonly #element: HTMLElement;
  readonly #state: HTMLElement;
  readonly #detail: HTMLElement;
  readonly #reason: HTMLElement;
  #stalledSince: number | undefined;
  #coveredUntil: number | undefined;

  constructor(element: HTMLElement) {
    this.#element = element;
    this.#state = element.querySelector<HTMLElement>(".state")!;
    this.#detail = element.querySelector<HTMLElement>(".detail")!;
    this.#reason = element.querySelector<HTMLElement>(".reason")!;
  }

  show({ state, coveredUntil, lastError }: FeedStatus, now: number): void {
    this.#stalledSince = state === "stalled" ? (this.#stalledSince ?? now) : undefined;
    // A connection that is lost does not know what was covered; what is shown still is.
    this.#coveredUntil = coveredUntil ?? this.#coveredUntil;
    const since = this.#stalledSince === undefined ? "" : ` since ${timeText(this.#stalledSince)}`;
    const until = this.#coveredUntil;
    const covered = until === undefined ? "" : `covered until ${instantText(until, now)}`;
    this.#write(state, `${NAMES[state]}${since}`, covered, lastError?.message ?? "");
  }

  /** The stream has ended with an error. */
  fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#write("failed", "Failed", "tries again soon", message);
  }

  reset(): void {
    this.#stalledSince = undefined;
    this.#coveredUntil = undefined;
    this.#write("starting", NAMES.starting, "", "");
  }

  #write(state: string, name: string, detail: string, reason: string): void {
    this.#element.dataset.state = state;
    this.#state.textContent = name;
    this.#detail.textContent = detail;
    this.#reason.textContent = reason;
    // All of it, where it is cut off.
    this.#reason.title = reason;
  }
}
