import type { World } from "../world.js";

/** What a promise comes to within so much virtual time; throws what it rejects with, or that it still waits. */
export async function settled<T>(world: World, promise: Promise<T>, ms = 10_000): Promise<T> {
  let outcome: { value: T } | { error: unknown } | undefined;
  promise.then(
    (value) => {
      outcome = { value };
    },
    (error: unknown) => {
      outcome = { error };
    },
  );
  const end = world.clock.now() + ms;
  while (outcome === undefined && world.clock.now() < end) await world.clock.advanceBy(10);
  if (outcome === undefined) throw new Error("still waiting");
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}
