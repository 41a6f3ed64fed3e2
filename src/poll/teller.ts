import type { Subscription } from "rxjs";
import type { Warner } from "../client/core.js";
import type { PolledFeed } from "../client/metering.js";
import { callAt } from "../client/timers.js";
import { type Happening, Hearing } from "./hearing.js";

/** Tells what has happened. */
export type Tell = (what: Happening) => void;

/** Warns of the trouble of one stream: of its shared poll, and of the histories of those who watch it. */
export class Teller {
  readonly #warner: Warner;
  readonly #feed: PolledFeed;
  readonly #hearing: Hearing;
  #timer: Subscription | undefined;
  #dueAt = Infinity;
  #isOver = false;

  constructor(warner: Warner, feed: PolledFeed) {
    this.#warner = warner;
    this.#feed = feed;
    this.#hearing = new Hearing(feed.timeframe === undefined ? "snipers" : "swaps");
  }

  /** Adds a part of the stream: what tells of it, and what takes it out again. */
  join(): readonly [tell: Tell, leave: () => void] {
    const { scheduler } = this.#warner;
    const part = this.#hearing.join();
    const tell: Tell = (what) => {
      this.#hearing.hear(part, what, scheduler.now());
      this.#speak();
    };
    return [
      tell,
      () => {
        this.#hearing.leave(part);
        this.#speak();
      },
    ];
  }

  /** Says no more, and leaves no timer. */
  stop(): void {
    this.#isOver = true;
    this.#timer?.unsubscribe();
  }

  #speak(): void {
    const { scheduler, warn } = this.#warner;
    const hearing = this.#hearing;
    let due = hearing.next;
    for (; !this.#isOver && due !== undefined && due.at <= scheduler.now(); due = hearing.next) {
      due.said(scheduler.now());
      warn(due.text, this.#feed, due.error, due.failures);
    }
    if (this.#isOver) return;
    const dueAt = due?.at ?? Infinity;
    if (dueAt === this.#dueAt) return;
    this.#dueAt = dueAt;
    this.#timer?.unsubscribe();
    const speak = () => {
      this.#dueAt = Infinity;
      this.#speak();
    };
    this.#timer = dueAt === Infinity ? undefined : callAt(scheduler, dueAt, speak);
  }
}
