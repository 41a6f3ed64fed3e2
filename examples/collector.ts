// Polls a service once for any number of bots, and publishes what it finds over NATS: `npm run example:collector`.
// Several of them stand in for each other: one leads, and works with the whole limit of the key.
import { Command, Option } from "commander";
import { type Client, type ClientOptions, createClient } from "pairstream";
import { type CollectorActivity, collect } from "pairstream/nats";
import { lastValueFrom, tap } from "rxjs";
import { dateAndTime } from "./live/text.js";
import { metricsOption, withMetrics } from "./nats/metrics.js";
import { connectTo, demo, type Given, serversOption, timeframeOption } from "./nats/place.js";
import { KEY, parseArguments, remotePairs, toNumber, UsageError } from "./terminal/command-line.js";
import { onSignal, runProgram } from "./terminal/program.js";
import { storeOption, storeTrouble, withStore } from "./terminal/store-file.js";

interface CollectorGiven extends Given {
  readonly baseUrl?: string;
  readonly pair?: readonly string[];
  readonly replicas: number;
  readonly store?: string;
  readonly metrics?: number;
}

const command = new Command("npm run example:collector --")
  .description(
    "Publishes the candles and snipers of pairs over NATS; without --base-url of a simulated market.",
  )
  .addOption(serversOption)
  .addOption(timeframeOption)
  .addOption(
    new Option("--replicas <count>", "how many nodes of a NATS cluster keep the messages")
      .argParser(toNumber)
      .default(1),
  )
  .addOption(new Option("--base-url <url>", `collect from a remote service; needs ${KEY} and --pair`))
  .addOption(new Option("--pair <addresses...>", "the addresses of the pairs"))
  .addOption(metricsOption)
  .addOption(storeOption("; needs --base-url: the simulated market changes every hour"));

const stopping = new AbortController();
onSignal(() => stopping.abort());

await runProgram(async (args) => {
  const given = parseArguments<CollectorGiven>(command, args);
  if (given.store !== undefined && given.baseUrl === undefined)
    throw new UsageError("--store needs --base-url: the simulated market changes every hour");
  await withStore(given.store, (stored) => publish(given, stored));
});

async function publish(given: CollectorGiven, stored: Pick<ClientOptions, "store">): Promise<void> {
  const { client, pairs } = placeOf(given, stored);
  storeTrouble(client).subscribe(({ at, key, operation, error }) =>
    console.error(`${dateAndTime(at)} store ${operation} ${key.pairAddress} ${error}`),
  );
  const { timeframe, replicas } = given;
  const feeds = pairs.flatMap((pairAddress) => [
    { network: "mainnet", pairAddress, timeframe, currency: "usd", since: { candles: 100 } } as const,
    { pairAddress },
  ]);
  await withMetrics(given.metrics, client, async () => {
    const connection = await connectTo(given);
    try {
      const activity = collect(connection, client, feeds, { replicas, signal: stopping.signal });
      const print = tap<CollectorActivity>((one) => console.log(lineOf(one)));
      await lastValueFrom(activity.pipe(print), { defaultValue: undefined });
    } finally {
      await connection.close();
    }
  });
}

function lineOf(activity: CollectorActivity): string {
  const { type, at } = activity;
  const about = {
    ...("feed" in activity ? { feed: activity.feed } : {}),
    ...("error" in activity ? { error: String(activity.error) } : {}),
  };
  return `${dateAndTime(at)} ${type} ${Object.values(about).join(" ")}`;
}

function placeOf(
  { baseUrl, pair }: CollectorGiven,
  stored: Pick<ClientOptions, "store">,
): { client: Client; pairs: readonly string[] } {
  const { pairs, clientOptions } = remotePairs({ baseUrl, pair }, process.env[KEY]) ?? demo;
  return { client: createClient({ ...clientOptions, ...stored }), pairs };
}
