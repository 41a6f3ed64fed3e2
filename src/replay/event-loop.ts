import { PairstreamError } from "../errors.js";

/** A way to be called once all promises that can settle have done so. One that throws or rejects does not work here. */
type Ask = (done: () => void) => unknown;
/** A function of the platform that calls back; the rest are marks of fake timers. */
type Later = ((work: () => void) => unknown) & { clock?: unknown; _isMockFunction?: unknown };

const platform = globalThis as {
  setImmediate?: Later;
  MessageChannel?: typeof MessageChannel;
  setTimeout?: Later;
  process?: { nextTick?: Later };
};
/** Fake timers that come later do not replace these. */
const { setImmediate: firstImmediate, setTimeout: firstTimeout } = platform;

/** A chain of this many promises settles within one turn. A way that calls back before it has settled is a microtask. */
const LINKS = 100;
/** A way that has not called back by the time another one has done so this often is held back for ever. */
const ROUNDS = 5;

/** Calls `done` by the first way that works, or `fail` if none does. */
type Pass = (done: () => void, fail: (error: PairstreamError) => void) => void;

/**
 * Tries the ways, best first, at the first call, and keeps the best one that works. A name proves nothing: `setImmediate`
 * may be a microtask, or a fake that waits for a test's clock.
 */
function firstThatWorks(ways: () => Ask[]): Pass {
  let found: Ask | undefined;
  return (done, fail) => {
    if (found) return found(done);
    let left = ways();
    let haveSettled = false;
    let isOver = false;
    const hasCome = new Set<Ask>();
    const decide = () => {
      const [best] = left;
      if (isOver || (best && !hasCome.has(best))) return;
      isOver = true;
      found = best;
      if (best) done();
      else fail(noTurn());
    };
    void settle(LINKS).then(() => {
      haveSettled = true;
    });
    for (const way of left) {
      const leave = () => {
        left = left.filter((other) => other !== way);
      };
      const ask = () => {
        const asked = async () => way(come);
        asked().catch(() => {
          leave();
          decide();
        });
      };
      let rounds = 0;
      const come = () => {
        if (isOver) return;
        if (haveSettled) hasCome.add(way);
        else leave();
        rounds += 1;
        if (rounds === ROUNDS) left = left.filter((other) => hasCome.has(other));
        decide();
        if (haveSettled && !isOver) ask();
      };
      ask();
    }
    decide();
  };
}

/** The works of `afterPromises` that are still to come. */
const waiting = new Set<() => void>();

const passPromises = firstThatWorks(() => {
  const { process } = platform;
  // `nextTick` is called from a promise reaction, so its callback comes after all reactions that are ready.
  const ticks = [process?.nextTick].filter(isReal).map((nextTick): Ask => {
    return async (done) => {
      await undefined;
      nextTick.call(process, done);
    };
  });
  return [...ticks, ...waysOfTurns(1)];
});

// Two messages are two macrotasks: what settles because of the first has run before the second.
const passTurn = firstThatWorks(() => waysOfTurns(2));

/**
 * Runs `work` once all promises that can settle have settled, before any `macrotask` that is awaited meanwhile. If the
 * platform allows it, nothing else runs in between. Calls `fail` instead if the platform has no turns at all.
 */
export function afterPromises(work: () => void, fail: (error: PairstreamError) => void): void {
  waiting.add(work);
  passPromises(() => waiting.delete(work) && work(), fail);
}

/**
 * Waits for a turn of the event loop. By then every promise that can settle has settled, and every work of
 * `afterPromises` has run. Rejects with a `PairstreamError` if the platform has no turns.
 */
export function macrotask(): Promise<void> {
  return new Promise((resolve, reject) => {
    passTurn(() => {
      // The platform may end this wait before an earlier one of `afterPromises`. That work still comes first.
      for (const work of waiting) work();
      waiting.clear();
      resolve();
    }, reject);
  });
}

function waysOfTurns(messages: number): Ask[] {
  const { setImmediate, setTimeout } = platform;
  return [
    ...[setImmediate, firstImmediate].filter(isReal),
    ...(platform.MessageChannel ? [(done: () => void) => afterMessages(messages, done)] : []),
    ...[setTimeout, firstTimeout].filter(isReal),
  ];
}

function isReal(later: Later | undefined): later is Later {
  return typeof later === "function" && !later.clock && !later._isMockFunction;
}

/** Sends messages to itself, one after the other. Browsers throttle timers, but not messages. */
function afterMessages(count: number, done: () => void): void {
  const { port1, port2 } = new platform.MessageChannel!();
  port1.onmessage = () => {
    port1.close();
    if (count === 1) done();
    else afterMessages(count - 1, done);
  };
  port2.postMessage(undefined);
}

async function settle(links: number): Promise<void> {
  for (let link = 0; link < links; link += 1) await undefined;
}

function noTurn(): PairstreamError {
  const states = (["setImmediate", "MessageChannel", "setTimeout"] as const).map((name) => {
    const later = platform[name];
    return `${name} ${!later ? "is missing" : isReal(later as Later) ? "does not wait" : "is faked"}`;
  });
  return new PairstreamError(
    `The clock cannot wait for the event loop: ${states.join(", ")}. ` +
      "Leave setImmediate or setTimeout real where you fake timers: see doNotFake in jest, toFake in vitest",
  );
}
