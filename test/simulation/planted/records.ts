import type { PlantedFault } from "./planted-fault.js";

/** What the monitors of snipers, stores and replays catch. */
export const RECORDS_FAULTS: readonly PlantedFault[] = [
  {
    name: "takes the tokens that a wallet has sniped for those that it has sold",
    file: "contract/wire.ts",
    find: "if (read.success) result.push(read.data);",
    replace:
      "if (read.success) result.push(Object.freeze({ ...read.data, totalTokensSold: read.data.totalTokensSniped }));",
    seeds: [1, 2],
  },
  {
    name: "counts the blocks after a pair's creation from one",
    file: "contract/wire.ts",
    find: "blocksAfterCreation: total }",
    replace: "blocksAfterCreation: z.pipe(total, z.transform((blocks) => (blocks ?? 0) + 1)) }",
    seeds: [1, 2],
  },
  {
    name: "tells one who joins later of the wallets without their last sale",
    file: "snipers/watch.ts",
    find: "view = nextView(view, state!, watch.known);",
    replace:
      "const isKnown = view === undefined && serviceNow(core) - state!.book.observedAt! > 2_000;\n" +
      "        view = nextView(view, state!, watch.known);\n" +
      "        type Told = (typeof view.events)[number];\n" +
      "        const told = (event: Told) =>\n" +
      '          event.type === "wallet-added"\n' +
      "            ? Object.freeze({ ...event, wallet: Object.freeze({ ...event.wallet, sellTransactions: Object.freeze(event.wallet.sellTransactions.slice(0, -1)) }) })\n" +
      "            : event;\n" +
      "        if (isKnown) view = { ...view, events: view.events.map(told) };",
    seeds: [1, 64],
  },
  {
    name: "keeps the totals of a wallet while one of its sales is missing",
    file: "snipers/diff.ts",
    find: "sniper === undefined ? [] : SNIPER_TOTALS.filter(",
    replace: "sniper === undefined || sides.sell.missing.size > 0 ? [] : SNIPER_TOTALS.filter(",
    seeds: [23],
  },
  {
    name: "writes candles as they were first shown",
    file: "adapters/store/keeping/final-recorder.ts",
    find: "this.#book = book;",
    replace:
      "this.#book = book;\n" +
      '    type Candles = Map<number, CandleBook["entries"][number]["candle"]>;\n' +
      "    const own = this as unknown as { first?: Candles };\n" +
      "    own.first ??= new Map();\n" +
      '    for (const change of changes as { candle: CandleBook["entries"][number]["candle"] }[]) {\n' +
      "      const { candle } = change;\n" +
      "      if (!own.first.has(candle.timestamp)) own.first.set(candle.timestamp, candle);\n" +
      "      change.candle = own.first.get(candle.timestamp)!;\n" +
      "    }",
    seeds: [9],
  },
  {
    name: "loses a candle in the middle of writes that are joined",
    file: "adapters/store/keeping/stored-series.ts",
    find: "candles: [...candles, ...known.candles] };",
    replace: "candles: [...candles.filter((_, at) => at !== 1), ...known.candles] };",
    seeds: [9, 4],
  },
];

/** What a recording that is replayed catches: streams that take other turns, at other instants. */
export const REPLAY_FAULTS: readonly PlantedFault[] = [
  {
    name: "lets timers fire at once that were late in the recording",
    file: "replay/replay.ts",
    find: "return late === undefined || taken < late.taken ? due : late.at + MOMENT;",
    replace: "return due;",
    seeds: [62, 140, 189],
  },
  // None is planted where timers fire before the one who came while they were late: no seed shows it, test/replay/replay plays it.
  {
    name: "forgets the turns of timers by a clock that was set back",
    file: "replay/replay.ts",
    find: "if (turn !== undefined) return turn;",
    replace: "",
    seeds: [300],
  },
];
