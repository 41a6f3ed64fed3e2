import fc from "fast-check";
import { expect, it } from "vitest";
import type { CandleWatch } from "../../../src/candles/options.js";
import {
  enterHistory,
  type HistoryProgress,
  historiesOf,
} from "../../../src/candles/view/history-progress.js";
import type { ClientCore } from "../../../src/client/core.js";

const WATCHES = ["one", "other"].flatMap((pollKey) =>
  [0, 60_000, { candles: 60_000 }].map((since) => ({ pollKey, since }) as CandleWatch),
);

it("knows the histories of each watch until they leave, and then holds nothing", () => {
  const steps = fc.array(fc.record({ which: fc.nat(WATCHES.length - 1), goes: fc.nat(3) }), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const shared = new Map<string, object>();
      const core = { shared } as unknown as ClientCore;
      const there = WATCHES.map((): [HistoryProgress, () => void][] => []);
      for (const { which, goes } of all) {
        const [left] = there[which]!.splice(goes, 1);
        if (left === undefined)
          there[which]!.push(enterHistory(core, WATCHES[which]!) as [HistoryProgress, () => void]);
        else {
          left[1]();
          expect(left[0].isStopped).toBe(true);
        }
        WATCHES.forEach((watch, at) => {
          expect([...historiesOf(core, watch)]).toEqual(there[at]!.map(([progress]) => progress));
        });
        for (const [progress] of there.flat()) {
          expect(progress.isStopped).toBe(false);
          expect(progress.value).toEqual({ failures: 0 });
        }
        expect(shared.size).toBe(there.filter((histories) => histories.length > 0).length);
      }
    }),
  );
});

it("keeps nothing of a watch that wants no history", () => {
  const core = { shared: new Map() } as unknown as ClientCore;
  const [progress, leave] = enterHistory(core, { pollKey: "one" } as CandleWatch);
  expect(progress).toBeUndefined();
  expect(core.shared.size).toBe(0);
  leave();
});
