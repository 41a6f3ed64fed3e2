import { swapTape } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { toLine } from "./harness.js";
import { pairAddress, smallTape } from "./small-tape.js";

const options = { pairAddress, tokenAddress: "tokenA" };
const lines = smallTape.map(toLine);
const everything = { from: 0, to: Number.MAX_SAFE_INTEGER, asOf: Number.MAX_SAFE_INTEGER };

const failing = (tape: Iterable<string>, change: object = {}) => {
  try {
    swapTape(tape, { ...options, ...change });
  } catch (error) {
    return error as Error;
  }
  throw new Error("It was taken");
};

describe("swapTape", () => {
  it("gives the swaps of its lines, frozen, blank lines skipped", () => {
    const pair = swapTape(["", ...lines, "  ", "\r"], options).pair("mainnet", pairAddress)!;
    const swaps = [...pair.swaps(everything)];
    expect(swaps).toEqual(smallTape);
    expect(swaps.every(Object.isFrozen)).toBe(true);
    expect(pair).toMatchObject({ tokenAddress: "tokenA", createdAt: smallTape[0]!.timestamp, settled: true });
  });

  it("reads lines one at a time, from any iterable", () => {
    function* once() {
      yield* lines;
    }
    expect([...swapTape(once(), options).pair("mainnet", pairAddress)!.swaps(everything)]).toHaveLength(12);
  });

  it("cuts ranges half-open, and at asOf", () => {
    const pair = swapTape(lines, options).pair("mainnet", pairAddress)!;
    const boundary = Date.UTC(2024, 1, 1);
    const hashes = (range: Partial<typeof everything>) =>
      [...pair.swaps({ ...everything, ...range })].map(({ transactionHash }) => transactionHash);
    expect(hashes({ to: boundary })).toEqual(["h1", "h2", "h3", "h4"]);
    expect(hashes({ from: boundary, to: boundary + 1 })).toEqual(["h5", "h5"]);
    expect(hashes({ asOf: boundary })).toEqual(["h1", "h2", "h3", "h4", "h5", "h5"]);
    expect(hashes({ asOf: boundary - 1 })).toEqual(["h1", "h2", "h3", "h4"]);
    expect(hashes({ from: boundary, to: boundary })).toEqual([]);
  });

  it("has one pair, on one network", () => {
    const source = swapTape(lines, { ...options, network: "devnet" });
    expect(source.pair("devnet", pairAddress)).toBeDefined();
    expect(source.pair("mainnet", pairAddress)).toBeUndefined();
    expect(source.pair("devnet", "pairB")).toBeUndefined();
  });

  it("may be empty, or be so after dust is left out", () => {
    expect([...swapTape([], options).pair("mainnet", pairAddress)!.swaps(everything)]).toEqual([]);
    const rich = swapTape(lines, { ...options, minimumUsd: 200 }).pair("mainnet", pairAddress)!;
    expect([...rich.swaps(everything)].map(({ usdAmount }) => usdAmount)).toEqual([200, 240]);
  });

  const good = smallTape[0]!;
  const wire = { ...good, timestamp: "2024-01-31T23:59:50.000Z" };
  it.each([
    ["not JSON", "{"],
    ["not an object", "[]"],
    ["not an object", "null"],
    ["not an object", '"text"'],
    ["blockNumber", JSON.stringify({ ...wire, blockNumber: 1.5 })],
    ["blockNumber", JSON.stringify({ ...wire, blockNumber: "100" })],
    ["timestamp", JSON.stringify({ ...wire, timestamp: good.timestamp })],
    ["timestamp", JSON.stringify({ ...wire, timestamp: "2024-02-30T00:00:00Z" })],
    ["timestamp", JSON.stringify({ ...wire, timestamp: "2024-01-31T23:59:50" })],
    ["transactionHash", JSON.stringify({ ...wire, transactionHash: "" })],
    ["walletAddress", JSON.stringify({ ...wire, walletAddress: undefined })],
    ["side", JSON.stringify({ ...wire, side: "swap" })],
    ["tokenAmount", JSON.stringify({ ...wire, tokenAmount: -1 })],
    ["usdAmount", JSON.stringify(wire).replace('"usdAmount":200', '"usdAmount":1e999')],
    ["nativeAmount", JSON.stringify({ ...wire, nativeAmount: null })],
  ])("names the line of a bad swap: %s", (problem, line) => {
    const error = failing([lines[0]!, "", line]);
    expect(error.name).toBe("InvalidInputError");
    expect(error.message).toContain("line 3");
    expect(error.message).toContain(problem);
  });

  it("names the line of a swap that is older than the one before it, dust or not", () => {
    const dust = { ...good, usdAmount: 0.001 };
    const older = { ...dust, timestamp: good.timestamp - 1 };
    expect(failing([toLine(dust), toLine(older)], { minimumUsd: 1 }).message).toMatch(
      /^line 2: timestamp is older/,
    );
  });

  it("names a line that is no text", () => {
    expect(failing([lines[0]!, 5 as unknown as string]).message).toContain("line 2");
  });

  it.each([
    ["pairAddress", { pairAddress: "" }],
    ["pairAddress", { pairAddress: "a/b" }],
    ["tokenAddress", { tokenAddress: "" }],
    ["tokenAddress", { tokenAddress: undefined }],
    ["minimumUsd", { minimumUsd: -1 }],
    ["minimumUsd", { minimumUsd: Number.NaN }],
    ["network", { network: "testnet" }],
  ])("refuses a bad %s", (parameter, change) => {
    expect(failing(lines, change)).toMatchObject({ name: "InvalidInputError", parameter });
  });

  it("refuses a whole text in place of its lines, and what is not iterable", () => {
    expect(failing(lines.join("\n"))).toMatchObject({ parameter: "lines" });
    expect(failing(undefined as unknown as string[])).toMatchObject({ parameter: "lines" });
    expect(() => swapTape(lines, undefined as never)).toThrow(/options/);
  });
});
