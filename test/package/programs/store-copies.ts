// Gives the client of one loaded copy of the package a store of the other: what an hour takes, read again by a new client.
import { createRequire } from "node:module";
import { firstValueFrom, lastValueFrom, ReplaySubject, toArray } from "rxjs";

const HOUR = 3_600_000;

async function copies() {
  const [root, stores, services] = [
    await import("pairstream"),
    await import("pairstream/store"),
    await import("pairstream/service"),
  ];
  const required = createRequire(process.argv[1]!);
  const common = {
    root: required("pairstream") as typeof root,
    stores: required("pairstream/store") as typeof stores,
  };
  return { module: { root, stores }, common, demo: services.demoService() };
}

type Copies = Awaited<ReturnType<typeof copies>>;

async function readTwice({ root }: Copies["module"], { stores }: Copies["module"], { demo }: Copies) {
  const written = new ReplaySubject<void>();
  const kept = stores.memoryStore();
  const store = stores.candleStore({
    ...kept,
    write: async (key, known) => {
      await kept.write(key, known);
      written.next();
    },
  });
  let requests = 0;
  const read = async () => {
    requests = 0;
    const client = root.createClient({ ...demo.clientOptions, store });
    client.activity.subscribe(({ type }) => {
      if (type === "request") requests += 1;
    });
    const to = Math.floor(Date.now() / HOUR - 1) * HOUR;
    const range = { from: to - HOUR / 2, to };
    const series = {
      network: "mainnet",
      pairAddress: demo.pairs[0],
      timeframe: "1min",
      currency: "usd",
    } as const;
    return lastValueFrom(root.fetchCandles(client, { ...series, ...range }).pipe(toArray()));
  };
  const first = await read();
  const asked = requests;
  await firstValueFrom(written);
  const second = await read();
  const isSame = JSON.stringify(second) === JSON.stringify(first);
  return { candles: first.length > 0, asked: asked > 0, isSame, again: requests };
}

async function main() {
  const all = await copies();
  const { module, common } = all;
  return {
    copies: module.root.createClient === common.root.createClient ? 1 : 2,
    module: await readTwice(module, common, all),
    common: await readTwice(common, module, all),
  };
}

main().then((result) => console.log(JSON.stringify(result)));
