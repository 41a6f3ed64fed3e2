import type { PlantedFault } from "./planted-fault.js";

/** What the bounds of the requests catch. */
export const ECONOMY_FAULTS: readonly PlantedFault[] = [
  {
    name: "reads each part of a history twice",
    file: "candles/read/range-reader.ts",
    find: "const read = await this.read(from, to, options).catch((error: unknown) => {",
    replace:
      "await this.read(from, to, options).catch(() => {});\n" +
      "      const read = await this.read(from, to, options).catch((error: unknown) => {",
    seeds: [2, 4, 5],
  },
  {
    name: "stretches each read back to the oldest candle that it knows",
    file: "candles/read/witnesses.ts",
    find: "return this.#before.findLast((timestamp) => timestamp < from);",
    replace:
      "const own = this as { oldest?: number };\n" +
      "    own.oldest ??= this.#before[0];\n" +
      "    return own.oldest !== undefined && own.oldest < from ? own.oldest : undefined;",
    seeds: [27, 56],
  },
  {
    name: "asks for each closing twice",
    file: "poll/shared-poll.ts",
    find: "this.#needsSecondLook = needsSecondLook;",
    replace: "this.#needsSecondLook = needsSecondLook || this.#secondLooks === 0;",
    seeds: [1, 2, 3],
  },
  {
    name: "confirms a silence three times",
    file: "candles/read/range-reader.ts",
    find: "const { probes } = options;",
    replace:
      "for (let more = 0; more < 2; more += 1) await this.#ask(from, to, start, known, options);\n    const { probes } = options;",
    seeds: [1, 2, 3],
  },
  {
    name: "reads slices that are a tenth of a page",
    file: "candles/read/slices.ts",
    find: "return Math.max(FULL_PAGE, Math.min(fitting, length * GROWTH));",
    replace: "return Math.floor(Math.max(FULL_PAGE, Math.min(fitting, length * GROWTH)) / 10);",
    seeds: [2, 4, 9],
  },
  {
    name: "asks for pages of a hundred rows",
    file: "candles/read/range-reader.ts",
    find: "const limit = Math.min(MAX_LIMIT,",
    replace: "const limit = Math.min(100,",
    seeds: [2, 6, 9],
  },
  {
    name: "retries twice as often as it may",
    file: "client/send/request.ts",
    find: "delayAfter(attempt, error, hint, retry)",
    replace: "delayAfter(Math.ceil(attempt / 2), error, hint, retry)",
    seeds: [14, 20, 26],
  },
];
