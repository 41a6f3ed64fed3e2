// Opens a local service to this machine, and asks it.
import { createPairService, listen, type PairService, simulatedMarket, withFaults } from "pairstream/service";

async function main(): Promise<{ status: number; pairAddress: string; faulty: number }> {
  const source = simulatedMarket({ seed: 1, createdAt: "2025-01-01" });
  const service: PairService = createPairService({ source, clock: () => Date.UTC(2025, 0, 1, 1) });
  const { url, close } = await listen(service, { port: 0 });
  const path = `/token/mainnet/pairs/${source.pairs[0]}/ohlcv`;
  const query = "timeframe=1min&currency=usd&fromDate=2025-01-01&toDate=2025-01-02";
  const headers = { "X-API-Key": "key" };
  const answer = await fetch(`${url}${path}?${query}`, { headers });
  await close();
  const { pairAddress } = (await answer.json()) as { pairAddress: string };
  const faulty = withFaults(service.fetch, { seed: 1, schedule: [{ call: 1, kind: "429" }] });
  const { status } = await faulty(`${url}${path}?${query}`, { headers });
  return { status: answer.status, pairAddress, faulty: status };
}

main().then((result) => console.log(JSON.stringify(result)));
