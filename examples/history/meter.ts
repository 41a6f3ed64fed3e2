import { Presets, SingleBar } from "cli-progress";
import type { Candle, Client } from "pairstream";
import type { Subscription } from "rxjs";

/** For terminals of 80 columns. */
const FORMAT =
  "{bar} {percentage} % {candles} candles, {requests} requests, {units} units, {eta_formatted} left";

/** `2h05m`, `5m07s`, `9s`; what is not known yet is no number. */
function formatTime(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const [hours, minutes, rest] = parts.map((part) => String(part).padStart(2, "0"));
  if (seconds >= 3_600) return `${Number(hours)}h${minutes}m`;
  return seconds >= 60 ? `${Number(minutes)}m${rest}s` : `${Number(rest)}s`;
}

/** Counts what a download gets and costs, and shows it while there is a terminal to show it on. */
export class Meter {
  candles = 0;
  requests = 0;
  /** What the requests cost, in the service's units. */
  units = 0;
  readonly #bar: SingleBar | undefined;
  readonly #subscription: Subscription;
  readonly #from: number;
  readonly #to: number;
  #reached: number;

  /** Of `[from, to)`, ms since the epoch. */
  constructor(client: Client, { from, to }: { from: number; to: number }, terminal: NodeJS.WriteStream) {
    this.#from = from;
    this.#to = to;
    this.#reached = from;
    this.#subscription = client.activity.subscribe((activity) => {
      if (activity.type === "request") {
        this.requests += 1;
        this.#show();
      }
      if (activity.type === "response") this.units += activity.weight ?? 0;
    });
    const options = {
      format: FORMAT,
      stream: terminal,
      hideCursor: true,
      barsize: 12,
      etaBuffer: 30,
      formatTime,
    };
    this.#bar = terminal.isTTY ? new SingleBar(options, Presets.shades_classic) : undefined;
  }

  /** Begins to show; so many candles, from before `start`, are there already. */
  start(start: number, candles: number): void {
    this.candles = candles;
    this.#reached = start;
    this.#bar?.start(this.#to - this.#from, start - this.#from, this.#counts());
  }

  onCandle(candle: Candle): void {
    this.candles += 1;
    this.#reached = candle.timestamp;
  }

  /** Leaves the bar as it is; or full, as silence at the end of a range has no candle. */
  stop({ isComplete }: { isComplete: boolean }): void {
    this.#subscription.unsubscribe();
    if (isComplete) this.#reached = this.#to;
    this.#show();
    this.#bar?.stop();
  }

  /** At each request, not at each candle: those come by the page, and a page in an instant tells nothing of the speed. */
  #show(): void {
    this.#bar?.update(this.#reached - this.#from, this.#counts());
  }

  #counts() {
    const shown = (count: number) => count.toLocaleString("en-US");
    return { candles: shown(this.candles), requests: shown(this.requests), units: shown(this.units) };
  }
}
