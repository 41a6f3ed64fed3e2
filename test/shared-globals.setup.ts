import { afterAll, expect } from "vitest";

/** What tests replace at times, and what all files of a worker share. */
const NAMES = [
  ...["process", "document", "location", "navigator", "addEventListener", "removeEventListener"],
  ...["fetch", "Headers", "Request", "Response", "AbortController", "TextEncoder", "MessageChannel"],
  ...["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "queueMicrotask"],
  ...["Date", "Promise", "Map", "Set", "Symbol", "JSON", "Math"],
] as const;

const now = () => NAMES.map((name) => [name, Reflect.get(globalThis, name)] as const);
// Those that Node makes at their first use are made here, so that none is there for one file only.
const before = new Map(now());

afterAll(() => {
  const replaced = now().filter(([name, value]) => value !== before.get(name));
  expect(
    replaced.map(([name]) => name),
    "globals that this file leaves to others",
  ).toEqual([]);
});
