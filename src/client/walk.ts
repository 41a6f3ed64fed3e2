import type { ClientCore, Step, Walk } from "./core.js";

/** Follows the cursors of one range; see `ClientCore.walk`. */
export async function* walkOf<T>(
  send: ClientCore["send"],
  { route, priority, parse, next, startedAt, signal, needsClock = false }: Walk<T>,
): AsyncGenerator<Step<T>, undefined, undefined> {
  const used = new Set<string>(startedAt === undefined ? [] : [startedAt]);
  for (let cursor: string | undefined, isLast = false; !isLast; ) {
    signal?.throwIfAborted();
    const exchange = await send({ route: route(cursor), priority, parse, signal, needsClock });
    const told = next(exchange.value);
    isLast = !told.cursor || told.rows === 0 || used.has(told.cursor);
    cursor = isLast ? undefined : told.cursor;
    if (cursor !== undefined) used.add(cursor);
    yield { ...exchange, cursor };
  }
}

/** The same for those who may leave while a step is under way: `return()` aborts it, and ends the walk at once. */
export function walkToLeave<T>(send: ClientCore["send"], walk: Walk<T>): AsyncIterator<Step<T>, undefined> {
  const { signal } = walk;
  const controller = new AbortController();
  const steps = walkOf(send, { ...walk, signal: controller.signal });
  const forward = () => controller.abort(signal?.reason);
  return {
    next: async () => {
      if (signal?.aborted) forward();
      signal?.addEventListener("abort", forward, { once: true });
      try {
        return await steps.next();
      } catch (error) {
        if (controller.signal.aborted && !signal?.aborted) return { done: true, value: undefined };
        throw error;
      } finally {
        signal?.removeEventListener("abort", forward);
      }
    },
    return: () => {
      // A step under way would otherwise run to its end before the generator hears of this.
      controller.abort();
      return steps.return(undefined);
    },
  };
}
