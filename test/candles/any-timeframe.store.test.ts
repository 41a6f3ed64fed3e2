import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/adapters/store/memory.js";
import { type AnyTimeframe, clientSource, intervalOf, watchCandles } from "../../src/index.js";
import { MINUTES, World } from "../world.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const START = Date.UTC(2024, 0, 5, 12, 7, 10);
/** Ten timeframes that a page switches through: three of 1min, three of 5min or 10min, and four of 1h or 30min. */
const TEN: readonly AnyTimeframe[] = [
  ...(["2min", "3min", "4min", "15min", "25s", "45min"] as const),
  ...(["90min", "2h", "3h", "6h"] as const),
];

/** The requests for candles that switching through the timeframes takes, twice: for each its history of a day, and its candles now. */
async function switched(hasStore: boolean) {
  const world = new World({
    start: START,
    createdAt: START - 5 * DAY,
    hasDate: true,
    client: hasStore ? { store: memoryStore() } : {},
  });
  world.swapsEvery(20_000, START - 4 * DAY, START + DAY);
  const counts: number[][] = [];
  for (let round = 0; round < 2; round += 1) {
    counts.push([]);
    for (const timeframe of TEN) {
      const before = world.asked.length;
      const { start: to } = intervalOf(timeframe, START - 12 * 60 * MINUTE);
      let isRead = false;
      clientSource(world.client)
        .history({ ...MINUTES, timeframe, from: START - 2 * DAY, to })
        .then(() => {
          isRead = true;
        });
      await world.clock.stopOnce(() => isRead, START + DAY);
      counts[round]!.push(world.asked.length - before);
    }
  }
  return counts;
}

describe("switching through ten timeframes", () => {
  it("costs nothing where a store has what they are made of", async () => {
    const [without, stored] = [await switched(false), await switched(true)];
    const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
    // The history of each timeframe of the service is read once.
    expect({ without, stored }).toMatchInlineSnapshot(`
      {
        "stored": [
          [
            3,
            0,
            0,
            1,
            9,
            0,
            1,
            1,
            0,
            0,
          ],
          [
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
          ],
        ],
        "without": [
          [
            3,
            3,
            3,
            1,
            9,
            1,
            1,
            1,
            1,
            1,
          ],
          [
            3,
            3,
            3,
            1,
            9,
            1,
            1,
            1,
            1,
            1,
          ],
        ],
      }
    `);
    expect(total(stored[1]!)).toBe(0);
    expect(total(without[1]!)).toBeGreaterThan(total(stored[0]!));
  });

  it("costs one poll for what is watched from a history that is stored", async () => {
    const world = new World({
      start: START,
      createdAt: START - 5 * DAY,
      hasDate: true,
      client: { store: memoryStore() },
    });
    world.swapsEvery(20_000, START - 4 * DAY, START + DAY);
    const watch = async (timeframe: AnyTimeframe) => {
      const before = world.asked.length;
      const options = { ...MINUTES, timeframe, every: "close", since: "2024-01-04T12:00:00Z" } as const;
      const subscription = watchCandles(world.client, options).subscribe();
      await world.clock.advanceBy(2_000);
      subscription.unsubscribe();
      await world.clock.advanceBy(0);
      return world.asked.length - before;
    };
    await watch("1min");
    await world.clock.advanceBy(30_000);
    expect([await watch("2min"), await watch("3min"), await watch("4min"), await watch("8min")]).toEqual([
      1, 1, 1, 1,
    ]);
  });
});
