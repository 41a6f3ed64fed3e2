import type { PlantedFault } from "./planted-fault.js";

/** What the comparison with the truth catches: streams, histories and calls that are not what the service has. */
export const CONVERGENCE_FAULTS: readonly PlantedFault[] = [
  {
    name: "waits for two minutes more after an outage",
    file: "poll/poller.ts",
    find: "if (this.update.state !== undefined) return slot;",
    replace: "if (this.update.state !== undefined) return { ...slot, at: slot.at + 120_000 };",
    seeds: [28, 39],
  },
  {
    name: "loses every tenth candle of seconds",
    file: "candles/read/page.ts",
    find: "candles: candles.filter(({ timestamp }) =>",
    replace: "candles: candles.filter(({ timestamp }) => timestamp % 10_000 !== 7_000 &&",
    seeds: [27],
  },
  {
    name: "loses every seventh minute where there is a quota",
    file: "candles/read/pages.ts",
    find: "...read,",
    replace:
      "...read, candles: read.candles.filter(({ timestamp }) => timestamp % 420_000 > 0 || this.#core.spending.resetsAt() % 86_400_000 === 0),",
    seeds: [11, 22],
  },
  {
    name: "begins with one candle less than were asked for",
    file: "candles/view/history-reading.ts",
    find: "count: this.#count, until:",
    replace: "count: this.#count - 1, until:",
    seeds: [2],
  },
  {
    name: "loses the second part of a history that is read backward",
    file: "candles/read/backward.ts",
    find: "parts.unshift(onPart({ from: start, to, candles: inRange, ...common }));",
    replace:
      "parts.unshift(onPart({ from: start, to, candles: parts.length === 1 ? [] : inRange, ...common }));",
    seeds: [2],
  },
  {
    name: "loses the candles in the middle of a history",
    file: "candles/read/forward.ts",
    find: "yield { from, to: book.finalUntil, candles, unreadable,",
    replace:
      "yield { from, to: book.finalUntil, candles: candles.filter((_, at) => at < 5 || at > 8), unreadable,",
    seeds: [1, 2],
  },
  {
    name: "fetches the running candle",
    file: "candles/fetch.ts",
    find: "make(series, weekStart)",
    replace: "make(series, weekStart, -intervals.shortest, -1)",
    seeds: [8, 10],
  },
  {
    name: "fetches all but the newest closed candle",
    file: "candles/fetch.ts",
    find: "known ??= windowStart(rules, Math.max(at, serviceNow(core) - CLOCK_SLACK));",
    replace:
      "known ??= intervals.shift(windowStart(rules, Math.max(at, serviceNow(core) - CLOCK_SLACK)), -1);",
    seeds: [42, 53],
  },
  {
    name: "fills a fetch at prices that nobody has paid",
    file: "candles/fetch.ts",
    find: "for (const { candle } of filler.fill(step)) yield candle;",
    replace:
      "for (const { candle } of filler.fill(step))\n" +
      "    yield candle.swaps > 0 ? candle : Object.freeze({ ...candle, low: candle.low / 2 });",
    seeds: [21, 23],
  },
  {
    name: "never ends a fetch",
    file: "candles/fetch.ts",
    find: "    yield part;\n" + "  }\n",
    replace: "    yield part;\n" + "  }\n" + "  await new Promise(() => {});\n",
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
    find: "result: Object.freeze(result) }), facts };",
    replace: "result: Object.freeze(result) }), facts: { ...facts, cursor: undefined } };",
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
    file: "candles/read/evidence.ts",
    find: "const BROKEN_READS = 3;",
    replace: "const BROKEN_READS = 2;",
    seeds: [8, 62],
  },
  {
    name: "gives a candle's row up that was broken once",
    file: "candles/read/evidence.ts",
    find: "const BROKEN_READS = 3;",
    replace: "const BROKEN_READS = 1;",
    seeds: [8, 37],
  },
  {
    name: "forgets in a history what polls have shown",
    file: "candles/read/forward.ts",
    find: "[book, page] = heldTo(known, book, page);",
    replace: "[book, page] = heldTo([], book, page);",
    seeds: [90559, 62895],
  },
  {
    name: "closes candles at their open where gaps are filled",
    file: "candles/view/gap-filler.ts",
    find: "return { candle, status, revision, isReal: true, isKnown };",
    replace:
      'const isEarly = status === "closed" && candle.close !== candle.open;\n' +
      "      return { candle: isEarly ? Object.freeze({ ...candle, close: candle.open }) : candle, status, revision, isReal: true, isKnown };",
    seeds: [3, 1],
  },
];
