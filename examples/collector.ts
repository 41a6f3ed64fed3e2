// Polls a service once for any number of bots, and publishes what it finds over NATS: `npm run example:collector`.
// Several of them stand in for each other: one leads, and works with the whole limit of the key. With `add PAIR` or
// `remove PAIR` it asks those that run to collect a pair, too, or to leave it.
import { Argument, Command, Option } from "commander";
import { type Client, type ClientOptions, createClient } from "pairstream";
import { addFeed, type CollectorActivity, collect, removeFeed } from "pairstream/nats";
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
  .addArgument(new Argument("[action]", "asks those that run, and ends").choices(["add", "remove"]))
  .argument("[pairs...]", "the pairs that are added or removed")
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
  const [action, ...asked] = command.args;
  if (action === undefined) await withStore(given.store, (stored) => publish(given, stored));
  else await ask(given, action === "add", asked);
});

/** The feeds of a pair. */
function feedsOf({ timeframe }: Given, pairAddress: string) {
  const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
  return [{ ...series, since: { candles: 100 } }, { pairAddress }] as const;
}

async function ask(given: Given, isAdded: boolean, pairs: readonly string[]): Promise<void> {
  if (pairs.length === 0) throw new UsageError("add and remove need the addresses of pairs");
  const connection = await connectTo(given);
  try {
    for (const pair of pairs) {
      const [{ since: _, ...series }, snipers] = feedsOf(given, pair);
      const changes = isAdded
        ? feedsOf(given, pair).map((feed) => addFeed(connection, feed))
        : [series, snipers].map((feed) => removeFeed(connection, feed));
      const isNew = (await Promise.all(changes)).includes(true);
      console.log(
        `${pair} ${isNew ? "is" : "was"} ${isAdded ? "collected" : "left"}${isNew ? "" : " already"}`,
      );
    }
  } finally {
    await connection.close();
  }
}

async function publish(given: CollectorGiven, stored: Pick<ClientOptions, "store">): Promise<void> {
  const { client, pairs } = placeOf(given, stored);
  storeTrouble(client).subscribe(({ at, key, operation, error }) =>
    console.error(`${dateAndTime(at)} store ${operation} ${key.pairAddress} ${error}`),
  );
  const { replicas } = given;
  const feeds = pairs.flatMap((pair) => feedsOf(given, pair));
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
