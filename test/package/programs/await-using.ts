// Leaves a service and a gateway to `await using`, and tells what they answer afterwards.
import { createClient } from "pairstream";
import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { createGateway } from "pairstream/sse";

async function main(): Promise<{ open: number[]; service: string; gateway: number }> {
  let service = "";
  let respond = async (_: Request): Promise<Response> => Response.error();
  const open: number[] = [];
  {
    await using listening = await listen(createPairService({ source: simulatedMarket({ seed: 1 }) }), {
      port: 0,
    });
    const client = createClient({ baseUrl: listening.url, apiKey: "key" });
    await using gateway = createGateway(client, { allow: () => true });
    service = listening.url;
    respond = gateway.fetch;
    open.push((await fetch(service)).status, (await respond(new Request(`${service}/status`))).status);
  }
  const answer = await fetch(service).then(
    ({ status }) => `answers ${status}`,
    () => "closed",
  );
  return { open, service: answer, gateway: (await respond(new Request(`${service}/status`))).status };
}

main().then((result) => console.log(JSON.stringify(result)));
