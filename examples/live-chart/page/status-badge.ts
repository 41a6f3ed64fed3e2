import { AuthenticationError, type FeedStatus } from "pairstream";
import { instantText, timeText, type Zone } from "../../page/figures.js";

/** How the stream stands: a word in the header, and over the chart what is wrong, in full. */
export class StatusBadge {
  readonly #element: HTMLElement;
  readonly #state: HTMLElement;
  readonly #notice: HTMLElement;
  readonly #market: HTMLElement;
  #stalledSince: number | undefined;
  #coveredUntil: number | undefined;

  /** `market`: what is dimmed by the style sheet; `notice`: what lies over it. */
  constructor(element: HTMLElement, notice: HTMLElement, market: HTMLElement) {
    this.#element = element;
    this.#state = element.querySelector<HTMLElement>(".state")!;
    this.#notice = notice;
    this.#market = market;
  }

  show({ state, coveredUntil, lastError }: FeedStatus, now: number, zone: Zone): void {
    this.#stalledSince = state === "stalled" ? (this.#stalledSince ?? now) : undefined;
    // A connection that is lost does not know what was covered; what is shown still is.
    this.#coveredUntil = coveredUntil ?? this.#coveredUntil;
    if (state === "live") {
      this.#write("live", "Live", "");
      return;
    }
    const reason = lastError?.message ?? "";
    if (state === "starting") {
      this.#write("starting", "Connecting", reason);
      return;
    }
    const until = this.#coveredUntil;
    const known =
      until === undefined ? "" : `The chart shows what was known at ${instantText(until, now, zone)}. `;
    const why = reason === "" ? "The data is late: no answer has come yet." : reason;
    this.#write("stalled", `Delayed since ${timeText(this.#stalledSince!, zone)}`, `${known}${why}`);
  }

  /** The stream has ended with an error; it is tried again. */
  fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const key = error instanceof AuthenticationError ? "The service refuses the API key. " : "";
    this.#write(
      "failed",
      "No data",
      `${key}${message}${/[.!?]$/.test(message) ? "" : "."} The page tries again every few seconds.`,
    );
  }

  reset(): void {
    this.#stalledSince = undefined;
    this.#coveredUntil = undefined;
    this.#write("starting", "Connecting", "");
  }

  #write(state: string, name: string, notice: string): void {
    this.#element.dataset.state = state;
    this.#market.dataset.state = state;
    if (this.#state.textContent !== name) this.#state.textContent = name;
    if (this.#notice.textContent !== notice) this.#notice.textContent = notice;
  }
}
