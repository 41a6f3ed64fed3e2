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
  ReplaySubject,
  skip,
  skipUntil,
  takeUntil,
  takeWhile,
  tap,
} from "rxjs";
import { dateAndTime, prices } from "./live/text.js";
import { parseArguments, toNumber } from "./terminal/command-line.js";
import { onSignal, runProgram } from "./terminal/program.js";

interface Given {
  seed: number;
  timeframe: Timeframe;
  candles: number;
}

const command = new Command("npm run example:indicators --")
  .description(
    "Two moving averages and an RSI over the candles of a pair that is made up and served in this process.",
  )
  .addOption(new Option("--timeframe <length>", "from 1s to 1M").default("10s"))
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
const HEADING = "UTC                 event   status close, fast, slow, RSI";

const stopped = new ReplaySubject<void>(1);
onSignal(() => stopped.next());
process.stdout.on("error", () => stopped.next());

await runProgram(async (args) => {
  const { seed, timeframe, candles } = parseArguments<Given>(command, args);
  const demo = demoService({ seed });
  const client = createClient(demo.clientOptions);
  const [pairAddress] = demo.pairs;
  const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
  const events = watchCandles(client, { ...series, since: { candles: 40 }, every: 2_000 }).pipe(
    withIndicators(indicators),
  );
  process.stdout.write(`${chalk.underline(HEADING)}\n`);
  const lines = events.pipe(
    connect((shared) =>
      merge(
        shared.pipe(map(lineOf)),
        shared.pipe(crosses("fast", "slow"), map(crossingLine)),
        // Last: the candle that it ends with is printed by then.
        shared.pipe(
          closes(),
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
});

function lineOf({ type, status, candle, values }: IndicatorEvent<Values>): string {
  const { fast, slow, strength } = values;
  const shown = [candle.close, fast, slow].map((value) =>
    value === undefined ? WARMING_UP : prices([candle.close, value]).at(-1),
  );
  const rest = strength?.toFixed(1) ?? WARMING_UP;
  return [dateAndTime(candle.timestamp), type.padEnd(7), status.padEnd(6), ...shown, rest].join(" ");
}

function crossingLine({ direction, event }: Crossing<IndicatorEvent<Values>>): string {
  const colour = direction === "up" ? chalk.green : chalk.red;
  const strength = event.values.strength?.toFixed(1) ?? "unknown";
  return colour(`${" ".repeat(20)}the fast average has crossed ${direction}, RSI ${strength}`);
}
