import type { ClientCore, Step, Walk } from "./core.js";

/** Follows the cursors of one range; see `ClientCore.walk`. */
export function walkOf<T>(send: ClientCore["send"], walk: Walk<T>): AsyncIterableIterator<Step<T>> {
  const controller = new AbortController();
  const steps = stepsOf(send, walk, controller);
  return {
    next: () => steps.next(),
    return: () => {
      // A step under way would otherwise run to its end before the generator hears of this.
      controller.abort();
      return steps.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* stepsOf<T>(
  send: ClientCore["send"],
  { route, priority, parse, next, startedAt, signal, needsClock = false }: Walk<T>,
  controller: AbortController,
): AsyncGenerator<Step<T>, undefined, undefined> {
  const used = new Set<string>(startedAt === undefined ? [] : [startedAt]);
  for (let cursor: string | undefined, isLast = false; !isLast; ) {
    signal?.throwIfAborted();
    const forward = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", forward, { once: true });
    let exchange: Awaited<ReturnType<typeof send<T>>>;
    try {
      exchange = await send({ route: route(cursor), priority, parse, signal: controller.signal, needsClock });
    } catch (error) {
      if (controller.signal.aborted && !signal?.aborted) return;
      throw error;
    } finally {
      signal?.removeEventListener("abort", forward);
    }
    const told = next(exchange.value);
    isLast = !told.cursor || told.rows === 0 || used.has(told.cursor);
    cursor = isLast ? undefined : told.cursor;
    if (cursor !== undefined) used.add(cursor);
    yield { ...exchange, cursor };
  }
}
