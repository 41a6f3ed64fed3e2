// Follows a pair with two moving averages and an RSI, and tells where the averages cross: `npm run example:indicators`.
import chalk from "chalk";
import { Command, Option } from "commander";
import {
  type Crossing,
  closes,
  createClient,
  crosses,
  ema,
  type IndicatorEvent,
  type IndicatorValues,
  rsi,
  type Timeframe,
  watchCandles,
  withIndicators,
} from "pairstream";
import { demoService } from "pairstream/service";
import {
  connect,
  filter,
  lastValueFrom,
  map,
  merge,
  mergeMap,
  skip,
  skipUntil,
  takeUntil,
  takeWhile,
  tap,
} from "rxjs";
import { dateAndTime, prices } from "./live/text.js";
import { parseArguments, toNumber } from "./terminal/command-line.js";
import { runProgram, untilStopped } from "./terminal/program.js";

interface Given {
  seed: number;
  timeframe: Timeframe;
  candles: number;
}

const command = new Command("npm run example:indicators --")
  .description(
    "Two moving averages and an RSI over the candles of a simulated pair that is served in this process.",
  )
  .addOption(new Option("--timeframe <length>", "such as 1s, 15min or 1M").default("10s"))
  .addOption(new Option("--seed <number>", "which market to make up").argParser(toNumber).default(69))
  .addOption(
    new Option("--candles <count>", "stop when so many candles have closed, those of the history not counted")
      .argParser(toNumber)
      .default(Number.POSITIVE_INFINITY, "go on until Ctrl-C"),
  );

const indicators = { fast: ema(9), slow: ema(21), strength: rsi(14) };
type Values = IndicatorValues<typeof indicators>;

const END = "";
const WARMING_UP = "-";
const NAMES = ["close", "fast", "slow"];
/** That of `RSI` and of its values. */
const STRENGTH_WIDTH = 5;

const stopped = untilStopped();

await runProgram(async (args) => {
  const { seed, timeframe, candles } = parseArguments<Given>(command, args);
  const demo = demoService({ seed });
  const client = createClient(demo.clientOptions);
  const [pairAddress] = demo.pairs;
  const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
  const events = watchCandles(client, { ...series, since: { candles: 40 }, every: 2_000 }).pipe(
    withIndicators(indicators),
  );
  const linesOf = inColumns();
  let [closed, crossings] = [0, 0];
  const lines = events.pipe(
    connect((shared) =>
      merge(
        shared.pipe(mergeMap(linesOf)),
        shared.pipe(
          crosses("fast", "slow"),
          tap(() => (crossings += 1)),
          map(crossingLine),
        ),
        // Last: the candle that it ends with is printed by then.
        shared.pipe(
          closes(),
          tap(() => (closed += 1)),
          skipUntil(shared.pipe(filter(({ live }) => live))),
          skip(candles - 1),
          map(() => END),
        ),
      ),
    ),
    takeWhile((line) => line !== END),
    tap((line) => process.stdout.write(`${line}\n`)),
    takeUntil(stopped),
  );
  await lastValueFrom(lines, { defaultValue: undefined });
  process.stdout.write(`${chalk.dim(`${closed} candles closed; crossings of the averages: ${crossings}`)}\n`);
});

/** A line for each event, below headings that come again when a column has to be wider. */
function inColumns() {
  let width = 0;
  return ({ type, status, candle, values }: IndicatorEvent<Values>): string[] => {
    const { fast, slow, strength } = values;
    const shown = [candle.close, fast, slow].map((value) =>
      value === undefined ? WARMING_UP : prices([candle.close, value]).at(-1)!,
    );
    const widest = Math.max(width, ...shown.map((text) => text.length));
    const isWider = widest > width;
    width = widest;
    const row = (start: string[], prices: readonly string[], rest: string) =>
      [...start, ...prices.map((text) => text.padStart(width)), rest.padStart(STRENGTH_WIDTH)].join(" ");
    const start = [dateAndTime(candle.timestamp), type.padEnd(7), status.padEnd(6)];
    const line = row(start, shown, strength?.toFixed(1) ?? WARMING_UP);
    if (!isWider) return [line];
    return [chalk.underline(row(["UTC".padEnd(19), "event  ", "status"], NAMES, "RSI")), line];
  };
}

function crossingLine({ direction, event }: Crossing<IndicatorEvent<Values>>): string {
  const colour = direction === "up" ? chalk.green : chalk.red;
  const strength = event.values.strength?.toFixed(1) ?? "unknown";
  return colour(`${" ".repeat(20)}the fast average has crossed ${direction}, RSI ${strength}`);
}
