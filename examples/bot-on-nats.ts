// A bot that polls nothing: it follows what collectors publish over NATS, and tells where two averages cross.
// `npm run example:collector` in one terminal, `npm run example:bot-on-nats` in any number of others.
import { Command, Option } from "commander";
import { type CandleEvent, closes, crosses, ema, type FeedStatus, withIndicators } from "pairstream";
import { natsSource } from "pairstream/nats";
import {
  connect,
  distinctUntilKeyChanged,
  filter,
  lastValueFrom,
  map,
  merge,
  type Observable,
  take,
  takeUntil,
  tap,
} from "rxjs";
import { dateAndTime } from "./live/text.js";
import { connectTo, demo, type Given, serversOption, timeframeOption } from "./nats/place.js";
import { parseArguments, toNumber } from "./terminal/command-line.js";
import { runProgram, untilStopped } from "./terminal/program.js";

interface BotGiven extends Given {
  readonly pair: string;
  readonly lines: number;
}

const command = new Command("npm run example:bot-on-nats --")
  .description("Follows a pair that collectors publish over NATS, with two moving averages.")
  .addOption(serversOption)
  .addOption(timeframeOption)
  .addOption(new Option("--pair <address>", "which pair").default(demo.pairs[0]))
  .addOption(
    new Option("--lines <count>", "stop after so many lines")
      .argParser(toNumber)
      .default(Number.POSITIVE_INFINITY, "go on until Ctrl-C"),
  );

const stopped = untilStopped();

await runProgram(async (args) => {
  const given = parseArguments<BotGiven>(command, args);
  const { pair: pairAddress, timeframe, lines } = given;
  const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
  const connection = await connectTo(given);
  try {
    const source = natsSource(connection);
    const told = merge(
      source.status(series).pipe(distinctUntilKeyChanged("state"), map(statusLine)),
      linesOf(source.candles({ ...series, since: { candles: 100 } })),
    ).pipe(
      take(lines),
      tap((line) => process.stdout.write(`${line}\n`)),
      takeUntil(stopped),
    );
    await lastValueFrom(told, { defaultValue: undefined });
  } finally {
    await connection.close();
  }
});

/** A line for every candle that closes from now on, and for every crossing; the history warms the averages up. */
function linesOf(events: Observable<CandleEvent>): Observable<string> {
  return events.pipe(
    withIndicators({ fast: ema(9), slow: ema(21) }),
    connect((shared) =>
      merge(
        shared.pipe(
          closes(),
          filter(({ live }) => live),
          map(({ candle }) => `${dateAndTime(candle.timestamp)} closed at ${candle.close}`),
        ),
        shared.pipe(
          crosses("fast", "slow"),
          filter(({ event }) => event.live),
          map(
            ({ event, direction }) =>
              `${dateAndTime(event.candle.timestamp)} the averages cross ${direction}`,
          ),
        ),
      ),
    ),
  );
}

function statusLine({ state, lastError }: FeedStatus): string {
  return `The feed is ${state}${lastError === undefined ? "" : `: ${lastError.message}`}`;
}
