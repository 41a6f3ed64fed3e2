import type { PlantedFault } from "./planted-fault.js";

/** What the bounds of the requests catch. */
export const ECONOMY_FAULTS: readonly PlantedFault[] = [
  {
    name: "reads each part of a history twice",
    file: "candles/read/forward-walk.ts",
    find: "const page = await this.#pages.read(part, options);",
    replace:
      "await this.#pages.read(part, options).catch(() => {});\n" +
      "      const page = await this.#pages.read(part, options);",
    seeds: [5],
  },
  {
    name: "stretches each read back to the oldest candle that it knows",
    file: "candles/live/poll-candles.ts",
    find: "const anchors = known.filter((anchor) => anchor > this.#costly);",
    replace: "const anchors = (this.all = [...new Set([...(this.all ?? []), ...known])]);",
    seeds: [56, 2],
  },
  {
    name: "stretches a fetch back to the newest candle that an earlier one has read",
    file: "candles/fetch.ts",
    find:
      "const query = { from: range.from, until, onAnswer, skipsRows };\n" +
      '  for await (const part of past.parts(query, { priority: "history", signal })) {\n',
    replace:
      "const facts = core.pairs.of(series) as { newest?: Record<string, number> };\n" +
      "  const newest = (facts.newest ??= {});\n" +
      "  const held = newest[series.timeframe] ?? Infinity;\n" +
      "  const anchors = held < range.from ? [held] : [];\n" +
      "  const query = { from: range.from, anchors, until, onAnswer, skipsRows };\n" +
      '  for await (const part of past.parts(query, { priority: "history", signal })) {\n' +
      "    newest[series.timeframe] = part.candles.at(-1)?.timestamp ?? newest[series.timeframe]!;\n",
    seeds: [52, 116],
  },
  {
    name: "asks for each closing twice",
    file: "poll/poller.ts",
    find: "const due = this.#dueAgain(step, begun);",
    replace:
      'const isOnce = asks === 0 && this.#slot.kind === "close";\n' +
      "      const due = this.#dueAgain(step, begun) ?? (isOnce ? scheduler.now() : undefined);",
    seeds: [2, 3],
  },
  {
    name: "confirms a silence three times",
    file: "candles/read/asking.ts",
    find: "const judgement = judge(rules, book, page);",
    replace:
      "const judgement = judge(rules, book, page);\n" +
      '  if (judgement.doubt === "silence")\n' +
      "    for (let more = 0; more < 2; more += 1) await pages.ask({ ...page, anchors: [] }, options);",
    seeds: [50],
  },
  {
    name: "reads slices that are a tenth of a page",
    file: "candles/read/stride.ts",
    find: "length: Math.max(FULL_PAGE, Math.min(fitting, length * growth)),",
    replace: "length: Math.floor(Math.max(FULL_PAGE, Math.min(fitting, length * growth)) / 10),",
    seeds: [75],
  },
  {
    name: "asks for pages of a hundred rows",
    file: "candles/read/pages.ts",
    find: "const limit = Math.min(MAX_LIMIT - (stale % 2),",
    replace: "const limit = Math.min(100,",
    seeds: [2],
  },
  {
    name: "retries twice as often as it may",
    file: "client/send/request.ts",
    find: "delayAfter(attempt, error, hint, retry)",
    replace: "delayAfter(Math.ceil(attempt / 2), error, hint, retry)",
    seeds: [14, 20, 26],
  },
];
