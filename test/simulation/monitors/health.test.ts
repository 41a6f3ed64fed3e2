import { expect, it } from "vitest";
import type { RunLog } from "../run-log.js";
import { affordsPolls } from "./health.js";

const PER = 600_000;

/** A run with one feed that is polled each minute, 11 times a period, and so many calls of histories at these instants. */
const logOf = (units: number, histories: readonly (readonly [calls: number, at: number])[]) =>
  ({
    plan: {
      world: { client: { quota: { units, per: PER } } },
      feeds: [{ period: 60_000 }],
      watchers: [],
    },
    exchanges: histories.flatMap(([calls, sent]) =>
      Array.from({ length: calls }, () => ({ sent, priority: "history" })),
    ),
  }) as unknown as RunLog;

it("takes polls for stretched where histories of one period leave less than these cost", () => {
  expect(affordsPolls(logOf(22 * 150, []))).toBe(true);
  expect(affordsPolls(logOf(21 * 150, []))).toBe(false);
  expect(affordsPolls(logOf(22 * 150, [[11, 0]]))).toBe(true);
  expect(affordsPolls(logOf(22 * 150, [[12, 0]]))).toBe(false);
  expect(
    affordsPolls(
      logOf(22 * 150, [
        [11, PER - 1],
        [11, PER],
      ]),
    ),
  ).toBe(true);
});
