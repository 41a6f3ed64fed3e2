import fc from "fast-check";
import { expect, it } from "vitest";
import { PAIR } from "../world.js";
import { HOUR, MINUTE, SECOND, START, TRIP, watching, worldWithoutPair } from "./missing-pair.js";

it("is each subscriber's own, whoever comes and goes", async () => {
  const stay = fc.record({
    from: fc.integer({ min: 0, max: 120 }),
    length: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(1_000)),
    whenMissing: fc.constantFrom("fail" as const, "wait" as const),
  });
  const property = fc.asyncProperty(
    fc.constantFrom(20 * SECOND, MINUTE, 10 * MINUTE),
    fc.array(stay, { minLength: 1, maxLength: 6 }),
    async (every, stays) => {
      const { world } = worldWithoutPair();
      const answers: number[] = [];
      world.client.activity.subscribe(({ type, at }) => {
        if (type === "response") answers.push(at);
      });
      const options = { pairAddress: PAIR, every };
      const all = stays.map((each) => ({
        ...each,
        given: undefined as ReturnType<typeof watching> | undefined,
      }));
      for (const each of all) {
        world.clock.schedule(() => {
          each.given = watching(world, options, each.whenMissing);
        }, each.from * MINUTE);
        world.clock.schedule(
          () => each.given!.subscription!.unsubscribe(),
          (each.from + each.length) * MINUTE,
        );
      }
      await world.clock.advanceTo(START + 200 * MINUTE);
      const ends = all.map(({ from, length, given, whenMissing }) => {
        const { joinedAt, failedAt } = given!;
        const end = failedAt === undefined ? undefined : START + failedAt * SECOND;
        const left = START + Math.min(200, from + length) * MINUTE;
        const own = answers.filter((answer) => answer > joinedAt && answer <= left);
        const isOver = (answer: number, index: number) => index >= 2 && answer - own[0]! >= MINUTE;
        // It fails with the first answer that is enough, and only then.
        expect(end).toBe(whenMissing === "fail" ? own.find(isOver) : undefined);
        // Whatever `every` is.
        if (whenMissing === "fail" && length > 1) expect(end! - joinedAt).toBeLessThanOrEqual(75 * SECOND);
        return { from: joinedAt, until: end ?? left, whenMissing };
      });
      // Between two answers while all who are there wait lies a minute at least.
      answers.forEach((answer, index) => {
        const before = answers[index - 1] ?? Number.NEGATIVE_INFINITY;
        // Where one leaves as the next one comes, the poll begins anew.
        const there = ends.filter((who) => who.from < answer && who.until > answer - TRIP);
        const isNew = there.every((who) => who.from > before);
        // Whoever leaves as the request goes out may have asked for it.
        const isHasty = ends.some(
          (who) => who.whenMissing === "fail" && who.from < answer && who.until >= answer - TRIP,
        );
        if (isNew || isHasty) return;
        expect(answer - before).toBeGreaterThanOrEqual(MINUTE);
      });
      for (const who of ends) {
        const own = answers.filter((answer) => answer > who.from && answer <= who.until);
        const gaps = [...own, who.until].map((answer, index) => answer - (own[index - 1] ?? who.from));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(HOUR + TRIP);
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
});
