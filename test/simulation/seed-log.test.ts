import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Outcome } from "./run-seed.js";
import { openSeedLog, usualHours } from "./seed-log.js";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "seed-log-"));
  file = join(folder, "seeds.ndjson");
});
afterEach(() => rmSync(folder, { recursive: true }));

const six = () => 6;

function outcomeOf(seed: number, hours = 6, breaches = 0): Outcome {
  return {
    seed,
    breaches: Array.from({ length: breaches }, (_, at) => ({
      promise: 1,
      monitor: "lives",
      what: "not so",
      at,
    })),
    counts: {
      runs: 1,
      hours,
      polls: 10 * seed,
      requests: 11 * seed,
      mostRequests: 12 * seed,
      aClosing: [seed],
      events: 3,
      faults: { delay: seed },
      compared: {},
    },
  };
}

describe("the log of a simulation", () => {
  it("begins empty, and gives back in a later call what was played", () => {
    const first = openSeedLog(file, six);
    expect(first.outcomes).toEqual([]);
    for (const seed of [7, 3]) first.add(outcomeOf(seed, 6, seed === 3 ? 1 : 0));
    expect(first.outcomes).toEqual([outcomeOf(7), outcomeOf(3, 6, 1)]);
    const second = openSeedLog(file, six);
    expect(second.outcomes).toEqual([outcomeOf(7), outcomeOf(3, 6, 1)]);
    expect([3, 4, 7].filter((seed) => second.has(seed))).toEqual([3, 7]);
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(2);
  });

  it("goes on behind a line that was cut when a call was stopped", () => {
    openSeedLog(file, six).add(outcomeOf(1));
    appendFileSync(file, '{"seed":2,"counts":{"runs":1,"ho');
    const next = openSeedLog(file, six);
    expect(next.has(2)).toBe(false);
    next.add(outcomeOf(2));
    expect(openSeedLog(file, six).outcomes).toEqual([outcomeOf(1), outcomeOf(2)]);
  });

  it("counts a seed once that two calls have played", () => {
    openSeedLog(file, six).add(outcomeOf(1));
    appendFileSync(file, readFileSync(file));
    expect(openSeedLog(file, six).outcomes).toEqual([outcomeOf(1)]);
  });

  it("keeps the first breaches only", () => {
    openSeedLog(file, six).add(outcomeOf(1, 6, 4_000));
    expect(openSeedLog(file, six).outcomes[0]!.breaches).toHaveLength(5);
  });

  it("refuses seeds that were played for other hours, and says which", () => {
    openSeedLog(file, six).add(outcomeOf(9));
    expect(() => openSeedLog(file, () => 12)).toThrow(
      `${file} has seed 9 of 6 hours, and with these options it is played for 12: take another file, or the hours of this one`,
    );
  });

  it.each(["nonsense", "{}", '{"seed":1}', "[1]", "null"])("refuses a file that is none: %s", (line) => {
    writeFileSync(file, `${line}\n`);
    expect(() => openSeedLog(file, six)).toThrow(`line 1 of ${file} is no seed's`);
  });

  it("needs no file: then nothing is kept", () => {
    const log = openSeedLog(undefined, six);
    log.add(outcomeOf(1));
    expect(log.outcomes).toEqual([outcomeOf(1)]);
  });
});

it("plays every tenth seed for half a day, and every fortieth for a whole one", () => {
  const seeds = Array.from({ length: 80 }, (_, at) => 770_001 + at);
  const played = (hours: number) => seeds.filter((seed) => usualHours(seed) === hours);
  expect(played(24)).toEqual([770_040, 770_080]);
  expect(played(12)).toEqual([770_010, 770_020, 770_030, 770_050, 770_060, 770_070]);
  expect(played(6)).toHaveLength(72);
});
