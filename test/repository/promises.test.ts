import { describe, expect, it } from "vitest";
import { filesBelow, read } from "../documents/files.js";
import { MONITORS } from "../simulation/check.js";
import { MONITORS as NATS_MONITORS } from "../simulation/nats/check.js";
import { PLANTED_NATS_FAULTS } from "../simulation/nats/planted-faults.js";
import { REPLAY_FAULTS } from "../simulation/planted/records.js";
import { PLANTED_FAULTS } from "../simulation/planted-faults.js";

interface Promised {
  readonly number: number;
  readonly text: string;
  readonly monitors: readonly string[];
  readonly tests: readonly string[];
  readonly planted: readonly string[];
}

const monitors = [...Object.keys(MONITORS), ...Object.keys(NATS_MONITORS)];

/** The items of one of a promise's lists. An item is in backticks or in quotes; a list without one says `none`. */
function listOf(text: string, name: string): string[] {
  const [, list] = new RegExp(`^- ${name}:(.*(?:\\n {2}.*)*)`, "m").exec(text) ?? [];
  if (list === undefined) return [`no list of ${name}`];
  if (list === " none") return [];
  const item = /`([^`]+)`|"([^"]+)"/g;
  const items = [...list.replace(/\s+/g, " ").matchAll(item)].map(([, name, words]) => name ?? words!);
  const rest = list
    .replace(item, "")
    .replace(/[,\s]+/g, " ")
    .trim();
  return rest === "" ? items : [...items, `odd: ${rest}`];
}

/** The promises of the document, as they stand in it. */
function promisesOf(document: string): Promised[] {
  const [, ...sections] = document.split(/^## /m);
  return sections.map((text) => ({
    number: Number(/^\d+(?=\. \S)/.exec(text)?.[0]),
    text,
    monitors: listOf(text, "Monitors"),
    tests: listOf(text, "Tests"),
    planted: listOf(text, "Planted"),
  }));
}

const promises = promisesOf(read("docs/promises.md"));

/** The items of all promises that are not among those that there are, by the number of the promise. */
function unknownTo(there: Iterable<string>, itemsOf: (promise: Promised) => readonly string[]): string[] {
  const known = new Set(there);
  return promises.flatMap((promise) =>
    itemsOf(promise).flatMap((item) => (known.has(item) ? [] : [`${promise.number}: ${item}`])),
  );
}

describe("the promises", () => {
  it("are numbered from 1 on", () => {
    expect(promises.length).toBeGreaterThan(17);
    expect(promises.map(({ number }) => number)).toEqual(promises.map((_, at) => at + 1));
  });

  it("say each where it ends", () => {
    expect(promises.filter(({ text }) => !/\n\nLimits: \S/.test(text)).map(({ number }) => number)).toEqual(
      [],
    );
  });

  it("are shown each by tests that there are", () => {
    expect(unknownTo(filesBelow("test", ".test.ts"), ({ tests }) => tests)).toEqual([]);
    expect(promises.filter(({ tests }) => tests.length === 0).map(({ number }) => number)).toEqual([]);
  });

  it("name the monitors that there are, and every one of them", () => {
    expect(unknownTo(monitors, (promise) => promise.monitors)).toEqual([]);
    const named = new Set(promises.flatMap((promise) => promise.monitors));
    expect(monitors.filter((monitor) => !named.has(monitor))).toEqual([]);
  });

  it("name planted faults that there are", () => {
    const faults = [...PLANTED_FAULTS, ...REPLAY_FAULTS, ...PLANTED_NATS_FAULTS];
    expect(
      unknownTo(
        faults.map(({ name }) => name),
        ({ planted }) => planted,
      ),
    ).toEqual([]);
  });

  it("name of collectors the faults that their own monitors catch", () => {
    const caughtBy = new Map(PLANTED_NATS_FAULTS.map(({ name, monitor }) => [name, monitor]));
    const astray = promises.flatMap(({ number, planted, monitors: own }) =>
      planted.flatMap((name) => {
        const monitor = caughtBy.get(name);
        return monitor === undefined || own.includes(monitor) ? [] : [`${number}: ${name}`];
      }),
    );
    expect(astray).toEqual([]);
  });

  it("name each monitor that reports a breach under their number", () => {
    const check = read("test/simulation/check.ts");
    const unnamed = Object.keys(MONITORS).flatMap((monitor) => {
      const watch = new RegExp(`^ {2}${monitor}: (\\w+),`, "m").exec(check)?.[1];
      const file = new RegExp(`\\b${watch}\\b[^;]* from "\\./(monitors/[\\w-]+)\\.js"`).exec(check)?.[1];
      const breaches = read(`test/simulation/${file}.ts`).matchAll(/\bbreach\(\s*(\d+),/g);
      return [...new Set([...breaches].map(([, number]) => Number(number)))]
        .filter((number) => promises[number - 1]?.monitors.includes(monitor) !== true)
        .map((number) => `${number}: ${monitor}`);
    });
    expect(unnamed).toEqual([]);
  });
});

describe("the reader of promises", () => {
  it("takes lists over several lines, and none, and passes over nothing odd", () => {
    const [promise] = promisesOf(
      [
        "# Promises",
        "",
        "## 1. One",
        "",
        "Limits: None.",
        "",
        "- Monitors: none",
        "- Tests: `a.test.ts`,",
        "  `b.test.ts`, c.test.ts",
        '- Planted: "does this", "and',
        '  that"',
      ].join("\n"),
    );
    expect(promise).toMatchObject({
      number: 1,
      monitors: [],
      tests: ["a.test.ts", "b.test.ts", "odd: c.test.ts"],
      planted: ["does this", "and that"],
    });
  });

  it("tells of a list that is missing", () => {
    expect(promisesOf("# Promises\n\n## One\n")).toMatchObject([
      { number: Number.NaN, tests: ["no list of Tests"], planted: ["no list of Planted"] },
    ]);
  });
});
