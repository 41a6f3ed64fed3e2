/** A turn of the event loop, after which every promise that could settle has done so. */
export function macrotask(): Promise<void> {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  // Twice, so that whoever waits in the same way for what has been set off to settle is done with it.
  return message().then(message);
}

/** Calls once all promises that can settle have done so, where the platform can tell before anything else happens. */
export function afterPromises(work: () => void): void {
  const { process } = globalThis as { process?: { nextTick?: (work: () => void) => void } };
  if (typeof process?.nextTick === "function") {
    // From within a promise's reaction, as those that are ready come before any tick that they ask for.
    Promise.resolve().then(() => process.nextTick!(work));
  } else {
    message().then(work);
  }
}

/** Resolves with a message to itself: the next macrotask of a browser, which holds back its timers. */
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
