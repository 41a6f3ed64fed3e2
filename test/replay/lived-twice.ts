import { expect } from "vitest";
import {
  busySession,
  drawing,
  KEY,
  live,
  replay,
  type Trouble,
  TroubledMachine,
  troubledService,
} from "./sessions.js";

/** Lives through a busy session with a seed, and again; gives what both have shown. */
export async function livedTwice(seed: number, trouble: Trouble) {
  const session = busySession(seed);
  const { lines, seen } = await live(
    session,
    (clock) => troubledService(seed, clock, trouble),
    (clock) => new TroubledMachine(clock, drawing(seed), trouble),
  );
  const again = await replay(session, lines);
  expect(again.pending).toBe(0);
  expect(lines.join()).not.toContain(KEY);
  return { lines, seen: answeredPart(seen), again: answeredPart(again.seen) };
}

/** All until the last answer or failure: whether a timer that was late had its turn after that is on no tape. */
export function answeredPart(seen: readonly string[]): readonly string[] {
  return seen.slice(0, seen.findLastIndex((text) => text.includes('"type":"response"')) + 1);
}
