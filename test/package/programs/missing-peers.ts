// Uses every door where none of the optional peers is installed, and tells what each of them says.
import { PairstreamError } from "pairstream";
import { natsSource } from "pairstream/nats";
import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { indexedDbStore } from "pairstream/store";
import { firstValueFrom } from "rxjs";

const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const connection = { subscribe() {}, request() {}, isClosed: () => false } as never;

const uses: Record<string, () => Promise<unknown>> = {
  listen: () => listen(createPairService({ source: simulatedMarket({ seed: 1 }) }), { port: 0 }),
  natsSource: () => firstValueFrom(natsSource(connection).candles(series)),
  indexedDbStore: () => indexedDbStore("candles"),
};

async function main(): Promise<Record<string, string>> {
  const told: Record<string, string> = {};
  for (const [name, use] of Object.entries(uses)) {
    told[name] = await use().then(
      () => "worked",
      (error: unknown) => (error instanceof PairstreamError ? error.message : `no PairstreamError: ${error}`),
    );
  }
  return told;
}

main().then((result) => console.log(JSON.stringify(result)));
