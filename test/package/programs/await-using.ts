// Leaves a service and a channel to `await using`, and tells what they answer afterwards.
import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { createEventChannel } from "pairstream/sse";
import { NEVER } from "rxjs";

async function main(): Promise<{ open: number[]; service: string; channel: number }> {
  let service = "";
  let respond = (_: Request): Response => Response.error();
  const open: number[] = [];
  {
    await using listening = await listen(createPairService({ source: simulatedMarket({ seed: 1 }) }), {
      port: 0,
    });
    await using channel = createEventChannel({ candles: NEVER });
    service = listening.url;
    respond = channel.respond;
    open.push((await fetch(service)).status, respond(new Request(service)).status);
  }
  const answer = await fetch(service).then(
    ({ status }) => `answers ${status}`,
    () => "closed",
  );
  return { open, service: answer, channel: respond(new Request(service)).status };
}

main().then((result) => console.log(JSON.stringify(result)));
