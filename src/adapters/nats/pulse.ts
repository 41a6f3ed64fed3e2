import { Observable, type SchedulerLike, Subscription } from "rxjs";
import { callAt } from "../../client/timers.js";
import type { Heard } from "./gaps.js";
import { readPulse } from "./message.js";
import type { NatsConnection } from "./nats.js";
import { aliveSubject, type FeedSubjects } from "./subjects.js";

/** After so many unanswered questions in a row, the collector of a feed counts as dead. */
const QUESTIONS = 2;
/** A collector that hangs is noticed after at most so many times `every`. */
export const MISSED_AFTER = 2.25;

/** What a collector says when it is asked: up to where the feed is stored, or `"dead"` if it does not answer, or works on it no more. */
export type Pulse = Heard | "dead";

/**
 * Asks the collector of a feed every `every` ms. If no answer comes within half of that, it asks again a quarter of it later, but
 * only once: all readers of a dead collector ask, and the next one has to come up meanwhile. It tells of each answer, and of each
 * question from the second one on that has none.
 */
export function pulseOf(
  connection: NatsConnection,
  {
    name,
    publisher,
    feed,
    every,
    scheduler,
  }: { name: string; publisher: string; feed: FeedSubjects; every: number; scheduler: SchedulerLike },
): Observable<Pulse> {
  return new Observable<Pulse>((subscriber) => {
    let timer = Subscription.EMPTY;
    let failures = 0;
    const ask = async () => {
      let pulse: Pulse = "dead";
      try {
        const subject = aliveSubject(name, publisher);
        const answer = await connection.request(subject, feed.key, { timeout: every / 2 });
        pulse = readPulse(answer.string());
        failures = 0;
      } catch {
        failures += 1;
      }
      if (subscriber.closed) return;
      timer = callAt(scheduler, scheduler.now() + (failures === 1 ? every / 4 : every), () => void ask());
      if (failures === 0 || failures >= QUESTIONS) subscriber.next(pulse);
    };
    void ask();
    return () => timer.unsubscribe();
  });
}
