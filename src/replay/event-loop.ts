/** Waits for a turn of the event loop. By then every promise that can settle has settled. */
export function macrotask(): Promise<void> {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  // Two messages: another waiter of the same kind may just have settled something, and the second message comes after
  // that.
  return message().then(message);
}

/**
 * Runs `work` once all promises that can settle have settled. If the platform allows it, nothing else runs in between.
 */
export function afterPromises(work: () => void): void {
  const { process } = globalThis as { process?: { nextTick?: (work: () => void) => void } };
  if (typeof process?.nextTick === "function") {
    // `nextTick` is called from a promise reaction, so its callback comes after all reactions that are ready.
    Promise.resolve().then(() => process.nextTick!(work));
  } else {
    message().then(work);
  }
}

/** Resolves with a message to itself. Browsers throttle timers, but not messages. */
function message(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
