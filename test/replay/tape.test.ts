import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  createClient,
  InvalidInputError,
  PairstreamError,
  recordExchanges,
  replayExchanges,
  VirtualClock,
  watchCandles,
} from "../../src/index.js";
import { createPairService, simulatedMarket } from "../../src/service/index.js";

// Not long after 1970, from which an altered instant may have the clock walk.
const START = Date.UTC(1974, 0, 5, 12);
const LENGTH = 30_000;
const source = simulatedMarket({ seed: 3, createdAt: START - 86_400_000, pairs: 1 });
const series = {
  network: "mainnet",
  pairAddress: source.pairs[0]!,
  timeframe: "10s",
  currency: "usd",
  every: 2_000,
} as const;
const common = { baseUrl: "https://service.test", apiKey: "the-key", timeout: 5_000 };

/** A short session, and what it has shown. */
async function recorded() {
  const clock = new VirtualClock(START);
  const service = createPairService({ source, clock: () => clock.now() });
  const lines: string[] = [];
  let isDown = false;
  const fetch = recordExchanges(
    async (url, init) => {
      if (isDown) throw new Error("down", { cause: new Error("no route") });
      return service.fetch(url, init);
    },
    (line) => lines.push(line),
  );
  const client = createClient({ ...common, fetch, scheduler: clock, warn: false });
  const seen: string[] = [];
  const watching = watchCandles(client, series).subscribe((event) => seen.push(textOf(event)));
  await clock.advanceBy(LENGTH / 2);
  isDown = true;
  await clock.advanceBy(4_000);
  isDown = false;
  await clock.advanceBy(LENGTH / 2 - 4_000);
  watching.unsubscribe();
  return { lines, seen };
}

/** What a tape shows, and what its end says. */
async function replayed(lines: Iterable<string>) {
  const tape = replayExchanges(lines);
  const client = createClient({ ...common, fetch: tape.fetch, scheduler: tape.scheduler });
  const seen: string[] = [];
  let ended: unknown;
  const watching = watchCandles(client, series).subscribe({
    next: (event) => seen.push(textOf(event)),
    error: (error) => {
      ended = error;
    },
  });
  const error: unknown = await tape.run().then(
    () => ended,
    (reason) => reason,
  );
  watching.unsubscribe();
  return { seen, error };
}

const textOf = (event: CandleEvent) => JSON.stringify(event);
const session = recorded();

describe("a tape whose last line was cut off", () => {
  it("is replayed up to there, and says so at its end, wherever the cut is", async () => {
    const { lines, seen } = await session;
    const last = lines.at(-1)!;
    const whole = await replayed(lines);
    expect(whole).toEqual({ seen: seen.slice(0, whole.seen.length), error: undefined });
    const rest = await replayed(lines.slice(0, -1));
    expect(rest.error).toBeUndefined();
    expect(rest.seen.length).toBeGreaterThan(10);
    const cuts = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: last.length - 1 }));
    await fc.assert(
      fc.asyncProperty(cuts, fc.constantFrom([], [""], ["", " "]), async (at, after) => {
        const { seen, error } = await replayed([...lines.slice(0, -1), last.slice(0, at), ...after]);
        expect(seen).toEqual(rest.seen);
        expect(error).toBeInstanceOf(InvalidInputError);
        const { parameter, message } = error as InvalidInputError;
        expect(parameter).toBe(`line ${lines.length}`);
        expect(message).toContain(
          "is cut off, as if the recorder was killed while it wrote; the lines before it were replayed",
        );
      }),
      { numRuns: 60 },
    );
  });

  it("is refused at once where it is cut in the middle, and where its end is something else", async () => {
    const { lines } = await session;
    const half = lines[3]!.slice(0, 100);
    const doctored: [string[], string][] = [
      [[...lines.slice(0, 3), half, ...lines.slice(4)], "line 4 is not JSON"],
      [[...lines.slice(0, 3), half, half], "line 4 is not JSON"],
      [[...lines, "the end"], `line ${lines.length + 1} is not JSON`],
      [[...lines, '{"v":2,"re'], `line ${lines.length + 1} is not JSON`],
    ];
    for (const [tape, message] of doctored) {
      expect(() => replayExchanges(tape)).toThrow(InvalidInputError);
      expect(() => replayExchanges(tape)).toThrow(message);
    }
  });

  it("tells of a request that differs first", async () => {
    const { lines } = await session;
    const tape = replayExchanges([...lines, lines.at(-1)!.slice(0, 50)]);
    const client = createClient({ ...common, fetch: tape.fetch, scheduler: tape.scheduler });
    client.sniperReport({ pairAddress: "other" }).catch(() => {});
    await expect(tape.run()).rejects.toThrow("The replay differs from the recording");
  });
});

describe("a doctored tape", () => {
  const causes = (depth: number) => {
    let text = '{"name":"Error","message":"m"}';
    for (let level = 0; level < depth; level += 1) text = `{"name":"Error","message":"m","cause":${text}}`;
    return text;
  };
  const withFailure = (line: string, failure: string) =>
    JSON.stringify({ ...JSON.parse(line), failure: "@" }).replace('"@"', failure);

  it("is refused where its numbers cannot be", async () => {
    const { lines } = await session;
    const instants = ["asked", "sent", "answered", "ended"];
    const numbers = ["1e308", "-1e308", "1e17", "-1", "8640000000000001", '"1"', "null", "1e400"];
    const counts = ["1e308", "-1", "1.5", "9007199254740991", "1e9"];
    const edits = [
      ...instants.flatMap((name) => numbers.map((number) => [name, number])),
      ...["request", "asks"].flatMap((name) => counts.map((number) => [name, number])),
      ...["1e308", "-5", "200.5", "1000"].map((number) => ["status", number]),
    ];
    for (const [name, number] of edits) {
      const edited = lines.with(2, lines[2]!.replace(new RegExp(`"${name}":\\d+`), `"${name}":${number}`));
      expect(edited[2], name).not.toBe(lines[2]);
      expect(() => replayExchanges(edited), `${name} ${number}`).toThrow(InvalidInputError);
      expect(() => replayExchanges(edited), `${name} ${number}`).toThrow("line 3 ");
    }
  });

  it("is refused where causes lie deeper than they are kept", async () => {
    const { lines } = await session;
    const at = lines.findIndex((line) => line.includes('"failure":'));
    for (const depth of [4, 5, 100, 20_000, 200_000]) {
      const edited = lines.with(at, withFailure(lines[at]!, causes(depth)));
      expect(() => replayExchanges(edited)).toThrow(InvalidInputError);
      expect(() => replayExchanges(edited)).toThrow(`line ${at + 1} is not an exchange`);
    }
    const kept = lines.with(at, withFailure(lines[at]!, causes(3)));
    expect((await replayed(kept)).error).toBeUndefined();
  });

  it("ends with an error, whatever was altered, and never without end", async () => {
    const { lines } = await session;
    const year = Date.UTC(9_000, 0);
    const edit = fc.record({
      at: fc.integer({ min: 0, max: lines.length - 1 }),
      name: fc.constantFrom("ended", "sent", "asked", "answered", "request", "asks", "status"),
      number: fc.oneof(fc.constantFrom(0, 1, year, START + 86_400_000 * 20, 5_000), fc.double()),
    });
    await fc.assert(
      fc.asyncProperty(edit, async ({ at, name, number }) => {
        const text = lines[at]!.replace(new RegExp(`"${name}":\\d+`), `"${name}":${number}`);
        try {
          const { error } = await replayed(lines.with(at, text));
          if (error !== undefined) expect(error).toBeInstanceOf(PairstreamError);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidInputError);
        }
      }),
      { numRuns: 40 },
    );
  });
});
