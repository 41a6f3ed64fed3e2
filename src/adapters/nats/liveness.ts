import { Observable, ReplaySubject, type SchedulerLike, Subscription, share } from "rxjs";
import { callAt } from "../../client/timers.js";
import { type NatsConnection, SharedOnConnection } from "./nats.js";
import { aliveSubject } from "./subjects.js";

/** Answers whoever asks whether a publisher is alive, until unsubscribed. */
export function answerForLife(connection: NatsConnection, name: string, publisher: string): Subscription {
  const answering = connection.subscribe(aliveSubject(name, publisher), {
    callback: (error, message) => {
      if (error === null) message.respond();
    },
  });
  return new Subscription(() => answering.unsubscribe());
}

/** After so many unanswered questions in a row, the publisher counts as dead. */
const QUESTIONS = 2;

const followed = new SharedOnConnection<Observable<boolean>>();

/**
 * Whether a publisher is alive: emitted once that is known, and whenever it changes. All subscribers with one
 * scheduler on a connection share one question every `every` ms. If no answer comes within half of that, they ask again
 * a quarter of it later.
 */
export function signsOfLife(
  connection: NatsConnection,
  {
    name,
    publisher,
    every,
    scheduler,
  }: { name: string; publisher: string; every: number; scheduler: SchedulerLike },
): Observable<boolean> {
  const known = followed.of(connection, scheduler);
  const key = `${name} ${publisher} ${every}`;
  const running = known.get(key);
  if (running !== undefined) return running;
  const asking = new Observable<boolean>((subscriber) => {
    let timer = Subscription.EMPTY;
    let isAlive: boolean | undefined;
    let failures = 0;
    const tell = (next: boolean) => {
      if (next !== isAlive) subscriber.next(next);
      isAlive = next;
    };
    const ask = async () => {
      try {
        await connection.request(aliveSubject(name, publisher), "", { timeout: every / 2 });
        failures = 0;
      } catch {
        failures += 1;
      }
      if (subscriber.closed) return;
      timer = callAt(scheduler, scheduler.now() + (failures === 0 ? every : every / 4), () => void ask());
      if (failures === 0) tell(true);
      else if (failures >= QUESTIONS) tell(false);
    };
    void ask();
    return () => {
      timer.unsubscribe();
      known.delete(key);
    };
  });
  const shared = asking.pipe(share({ connector: () => new ReplaySubject<boolean>(1) }));
  known.set(key, shared);
  return shared;
}
