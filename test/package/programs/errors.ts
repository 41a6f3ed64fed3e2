// Lets every door fail, and tells which errors the classes of the root door do not know.
import { AuthenticationError, createClient, HttpError, InvalidInputError, PairstreamError } from "pairstream";
import { natsSource } from "pairstream/nats";
import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { createGateway, gatewaySource } from "pairstream/sse";
import { EMPTY, firstValueFrom, throwError } from "rxjs";

const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const service = createPairService({ source: simulatedMarket({ seed: 1 }), apiKeys: ["key"] });

async function listenTwice(): Promise<void> {
  const { url, close } = await listen(service, { port: 0 });
  try {
    await listen(service, { port: Number(new URL(url).port) });
  } finally {
    await close();
  }
}

/** How each door fails, and with what. */
const failures: Record<string, [fails: () => unknown, error: abstract new (...args: never[]) => Error]> = {
  "root, of the service's answer": [
    () =>
      createClient({ baseUrl: "https://service.test", apiKey: "other", fetch: service.fetch }).sniperReport({
        pairAddress: series.pairAddress,
      }),
    AuthenticationError,
  ],
  "service, of its input": [() => createPairService({} as never), InvalidInputError],
  "service, of a port in use": [listenTwice, PairstreamError],
  "sse, of its input": [() => gatewaySource(""), InvalidInputError],
  "sse, of an answer": [
    () =>
      firstValueFrom(
        gatewaySource("https://gateway.test/", {
          fetch: async () => new Response("", { status: 403 }),
        }).candles(series),
      ),
    HttpError,
  ],
  "sse, of what the gateway relays": [
    () => {
      const source = {
        candles: () => throwError(() => new AuthenticationError("No", 401, "")),
        status: () => EMPTY,
        snipers: () => EMPTY,
        sniperReport: () => EMPTY,
        history: async () => [],
      };
      const gateway = createGateway(source, { allow: [series] });
      const fetch = async (url: string, init?: RequestInit) => gateway.fetch(new Request(url, init));
      return firstValueFrom(gatewaySource("https://gateway.test/", { fetch }).candles(series));
    },
    AuthenticationError,
  ],
  "nats, of its input": [() => natsSource({} as never).candles(series), InvalidInputError],
};

async function main(): Promise<Record<string, string>> {
  const caught: Record<string, string> = {};
  for (const [name, [fails, expected]] of Object.entries(failures)) {
    try {
      await fails();
      caught[name] = "nothing was thrown";
    } catch (error) {
      const isKnown = error instanceof expected && error instanceof PairstreamError && error instanceof Error;
      caught[name] = isKnown ? "caught" : `not caught: ${error}`;
    }
  }
  return caught;
}

main().then((result) => console.log(JSON.stringify(result)));
