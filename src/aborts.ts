/** Who waits for a signal. It has one listener for all of them: Node takes eleven for a leak, and warns of it. */
interface Waiting {
  readonly leaves: Set<() => void>;
  readonly abort: () => void;
}

const waitingFor = new WeakMap<AbortSignal, Waiting>();

/** Calls `leave` once a signal aborts, until what this gives back is called. */
export function onAbort(signal: AbortSignal | undefined, leave: () => void): () => void {
  if (signal === undefined) return () => {};
  const { leaves, abort } = waitingFor.get(signal) ?? begin(signal);
  leaves.add(leave);
  return () => {
    if (!leaves.delete(leave) || leaves.size > 0) return;
    signal.removeEventListener("abort", abort);
    waitingFor.delete(signal);
  };
}

function begin(signal: AbortSignal): Waiting {
  const leaves = new Set<() => void>();
  const abort = () => {
    waitingFor.delete(signal);
    for (const leave of leaves) leave();
  };
  signal.addEventListener("abort", abort, { once: true });
  const waiting = { leaves, abort };
  waitingFor.set(signal, waiting);
  return waiting;
}
