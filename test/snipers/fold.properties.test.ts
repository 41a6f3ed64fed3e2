import fc from "fast-check";
import { expect, it } from "vitest";
import { emptySniperBook, readReport } from "../../src/snipers/diff.js";
import { applySniperEvent, emptyReport } from "../../src/snipers/event.js";
import { SniperFold } from "../../src/snipers/fold.js";
import { nextLook, type SniperLook, type ToldLook } from "../../src/snipers/look.js";
import { nextView, type SniperView } from "../../src/snipers/view.js";
import { Chain, steps } from "./market.js";

const QUERY = { pairAddress: "pair" };

/** The looks of the engine at a chain, from its first report on. */
class Stream {
  #book = emptySniperBook("pair");
  #view: SniperView | undefined;
  #told: ToldLook | undefined;

  take(read: ReturnType<Chain["take"]>): SniperLook | undefined {
    const turn = readReport(this.#book, read);
    const { result, ...head } = read.report;
    const { unreadable, hasUnidentifiedRow, isInDoubt = false } = read;
    this.#book = turn.book;
    const state = { ...turn, head, trouble: { unreadable, hasUnidentifiedRow, isInDoubt } };
    this.#view = nextView(this.#view, state, undefined);
    const before = this.#told;
    this.#told = nextLook(before, this.#view, QUERY, undefined);
    return this.#told === before ? undefined : this.#told.look;
  }
}

it("a fold of looks, and a reader of its changes, hold what the source does, over sources that begin anew", () => {
  const turn = fc.record({
    /** Whether the source begins anew, and what the reader does: nothing, or reads on, or all anew. */
    isAnew: fc.boolean(),
    reads: fc.constantFrom("nothing", "changes", "all"),
  });
  fc.assert(
    fc.property(steps, fc.array(turn, { minLength: 60, maxLength: 60 }), (steps, turns) => {
      const chain = new Chain();
      let stream = new Stream();
      const fold = new SniperFold(QUERY);
      const reader = new SniperFold(QUERY);
      const told: SniperLook[] = [];
      let version = 0;
      let last: SniperLook | undefined;
      const read = (what: "changes" | "all") => {
        const news = what === "changes" && version > 0 ? fold.since(version) : fold.snapshot();
        if (news === undefined) return;
        const look = reader.amend(news, what === "all" || version === 0);
        version = fold.version;
        if (look !== undefined) told.push(look);
      };
      for (const [at, step] of steps.entries()) {
        const { isAnew, reads } = turns[at % turns.length]!;
        if (isAnew) stream = new Stream();
        const look = stream.take(chain.take(step));
        if (look !== undefined) {
          last = look;
          const now = fold.take(look);
          // The same again is no news.
          const before = fold.version;
          if (now !== undefined && look.initial) expect(fold.take(look)).toBeUndefined();
          expect(fold.version).toBe(before);
        }
        if (reads !== "nothing") read(reads);
      }
      read("changes");
      if (last === undefined) return;
      expect([...fold.snapshot()!.wallets].map(([, wallet]) => wallet)).toEqual(last.report.result);
      const folded = told.flatMap(({ events }) => events).reduce(applySniperEvent, emptyReport);
      expect(folded.result).toEqual(last.report.result);
      expect(told.filter(({ initial }) => initial)).toEqual(told.slice(0, 1));
      expect(fold.since(fold.version + 1)).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});
