import { describe, expect, it } from "vitest";
import { clientSource, InvalidInputError, latestSniperReport, watchSniperReport } from "../../src/index.js";
import { answered, at, PAIR, World } from "../world.js";
import { settled } from "./settled.js";

const START = at("12:00:30");

/** Two wallets that buy with the first swap; one of them sells. */
function market(client: ConstructorParameters<typeof World>[0]["client"] = {}): World {
  const world = new World({ start: START, createdAt: START - 90_000, hasDate: true, client });
  for (const [after, walletAddress, side] of [
    [0, "ann", "buy"],
    [10, "bob", "buy"],
    [20_000, "ann", "sell"],
    [30_000, "bob", "sell"],
  ] as const)
    world.swap(START - 90_000 + after, 5, { walletAddress, side, blockNumber: 1 + after });
  return world;
}
const query = { pairAddress: PAIR, blocksAfterCreation: 100 };

describe("latestSniperReport", () => {
  it("gives the first look of the stream, and its age, for one request that all share", async () => {
    const world = market();
    const asks = Array.from({ length: 500 }, () => latestSniperReport(world.client, query));
    const [first] = await settled(world, Promise.all(asks));
    expect(world.asked).toHaveLength(1);
    const looks: unknown[] = [];
    const other = market();
    watchSniperReport(other.client, query).subscribe((look) => looks.push(look));
    await other.clock.advanceBy(1_000);
    const { age, ...look } = first!;
    expect(look).toEqual(looks[0]);
    expect(look.initial).toBe(true);
    expect(look.report.result.map(({ walletAddress }) => walletAddress)).toEqual(["ann", "bob"]);
    expect(age).toBeLessThan(1_000);
    expect(Object.isFrozen(first)).toBe(true);
    expect(world.clock.pending).toBe(0);
  });

  it("is kept up to maxAge, and costs nothing beside a stream", async () => {
    const world = market();
    const ask = (maxAge: number) => settled(world, latestSniperReport(world.client, query, { maxAge }));
    const first = await ask(60_000);
    await world.clock.advanceBy(30_000);
    const second = await ask(60_000);
    expect(second.report).toBe(first.report);
    expect(second.age - first.age).toBeCloseTo(30_000, -3);
    await ask(0);
    expect(world.asked).toHaveLength(2);
    const following = watchSniperReport(world.client, { ...query, every: 5_000 }).subscribe();
    await world.clock.advanceBy(62_000);
    const before = world.asked.length;
    expect((await ask(8_000)).report.result).toHaveLength(2);
    expect(world.asked).toHaveLength(before);
    following.unsubscribe();
  });

  it("takes the first look of another source, and fails with its first trouble", async () => {
    const world = market({ retry: false });
    const source = { ...clientSource(world.client) };
    const look = await settled(world, latestSniperReport(source, query));
    expect(look.report.result).toHaveLength(2);
    world.interfere = () => answered(503, { message: "down" });
    await expect(settled(world, latestSniperReport(source, query))).rejects.toThrow("down");
    await world.clock.advanceBy(0);
    expect(world.clock.pending).toBe(0);
  });

  it.each([
    ["source", (world: World) => [{ ...world }, query]],
    ["pairAddress", (world: World) => [world.client, {}]],
    ["blocksAfterCreation", (world: World) => [world.client, { ...query, blocksAfterCreation: -1 }]],
    ["every", (world: World) => [world.client, { ...query, every: 500 }]],
    ["maxAge", (world: World) => [world.client, query, { maxAge: Number.POSITIVE_INFINITY }]],
  ])("refuses a wrong %s before any request", async (parameter, input) => {
    const world = market();
    const asked = latestSniperReport(...(input(world) as unknown as Parameters<typeof latestSniperReport>));
    const error = await asked.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as InvalidInputError).parameter).toBe(parameter);
    expect(world.asked).toEqual([]);
  });
});
