import type { PlantedFault } from "./planted-fault.js";

const IN_RANGE =
  "const inRange = [...candles.values()].filter(({ timestamp }) => timestamp >= from && timestamp < to);";
const inRangeIf = (isKept: string) => IN_RANGE.replace(";", `.filter(({ timestamp }) => ${isKept});`);
const LAST_OF_FETCH =
  "    yield { ...read, to, candles: read.candles.filter(({ timestamp }) => timestamp < to) };\n  }\n";

/** What the comparison with the truth catches: streams, histories and calls that are not what the service has. */
export const CONVERGENCE_FAULTS: readonly PlantedFault[] = [
  {
    name: "waits for two minutes more after an outage",
    file: "poll/shared-poll.ts",
    find: "return mayWait ? { at: again, kind: this.#slot.kind } : next;",
    replace: "return { at: (mayWait ? again : next.at) + 120_000, kind: this.#slot.kind };",
    seeds: [28, 39],
  },
  {
    name: "loses every tenth candle of seconds",
    file: "candles/read/range-reader.ts",
    find: IN_RANGE,
    replace: inRangeIf("timestamp % 10_000 !== 7_000"),
    seeds: [27],
  },
  {
    name: "loses every seventh minute where there is a quota",
    file: "candles/read/range-reader.ts",
    find: IN_RANGE,
    replace: inRangeIf("timestamp % 420_000 > 0 || this.#core.spending.resetsAt() % 86_400_000 === 0"),
    seeds: [11],
  },
  {
    name: "begins with one candle less than were asked for",
    file: "candles/view/history-reading.ts",
    find: "const count = since.candles - inBook.length;",
    replace: "const count = since.candles - inBook.length - 1;",
    seeds: [4, 2],
  },
  {
    name: "loses the second slice of a history that is read backward",
    file: "candles/read/slices.ts",
    find: "reads.unshift({ ...read, from, candles: read.candles.slice(Math.max(0, surplus)) });",
    replace:
      "reads.unshift({ ...read, from, candles: reads.length === 1 ? [] : read.candles.slice(Math.max(0, surplus)) });",
    seeds: [2, 4],
  },
  {
    name: "loses the candles in the middle of a history",
    file: "candles/read/slices.ts",
    find: "yield { ...read, to, unreadable:",
    replace: "yield { ...read, candles: read.candles.filter((_, at) => at < 5 || at > 8), to, unreadable:",
    seeds: [1, 2],
  },
  {
    name: "fetches the running candle",
    file: "candles/fetch.ts",
    find: LAST_OF_FETCH,
    replace: "    yield { ...read, to, candles: read.candles };\n  }\n",
    seeds: [8, 10],
  },
  {
    name: "fetches all but the newest closed candle",
    file: "candles/fetch.ts",
    find: "const past = windowStart(rules, read.observedAt);",
    replace: "const past = rules.intervals.shift(windowStart(rules, read.observedAt), -1);",
    seeds: [12, 13],
  },
  {
    name: "fills a fetch at prices that nobody has paid",
    file: "candles/fetch.ts",
    find: "for (const { candle } of filler.fill(finalStep(read))) yield candle;",
    replace:
      "for (const { candle } of filler.fill(finalStep(read)))\n" +
      "    yield candle.swaps > 0 ? candle : Object.freeze({ ...candle, low: candle.low / 2 });",
    seeds: [21],
  },
  {
    name: "never ends a fetch",
    file: "candles/fetch.ts",
    find: LAST_OF_FETCH,
    replace: `${LAST_OF_FETCH}  await new Promise(() => {});\n`,
    seeds: [7, 8],
  },
  {
    name: "gives a page without its last row",
    file: "client/client.ts",
    find: "return value.page;",
    replace:
      "return Object.freeze({ ...value.page, result: Object.freeze(value.page.result.slice(0, -1)) });",
    seeds: [1, 8],
  },
  {
    name: "ends a walk after its first page",
    file: "client/client.ts",
    find: "next: ({ served }) => served,",
    replace: "next: ({ served }) => ({ ...served, cursor: undefined }),",
    seeds: [26],
  },
  {
    name: "gives a report without the hash of the pair's creation",
    file: "contract/wire.ts",
    find: "transactionHash: orNull(printableText),",
    replace: "transactionHash: orNull(z.pipe(printableText, z.transform(() => null))),",
    seeds: [2, 6],
  },
  {
    name: "gives a row up that was broken twice",
    file: "poll/refused-rows.ts",
    find: "const READS_BEFORE_SKIPPING = 3;",
    replace: "const READS_BEFORE_SKIPPING = 2;",
    seeds: [62, 93],
  },
  {
    name: "closes candles at their open where gaps are filled",
    file: "candles/view/gap-filler.ts",
    find: "return { candle: real.candle, status, revision: real.revision, isKnown };",
    replace:
      "const { candle, revision } = real;\n" +
      '      const isEarly = status === "closed" && candle.close !== candle.open;\n' +
      "      return { candle: isEarly ? Object.freeze({ ...candle, close: candle.open }) : candle, status, revision, isKnown };",
    seeds: [3, 1],
  },
];
