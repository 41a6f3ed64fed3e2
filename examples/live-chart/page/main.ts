// The page of a gateway: `npm start` serves it.
import { gatewaySource } from "pairstream/sse";
import { defer, firstValueFrom, retry, timer } from "rxjs";
import type { Choices } from "../gateway.js";
import { startPage } from "./live-page.js";

/** ms until a gateway that is away is asked again. */
const PAUSE = 2_000;

async function readChoices(): Promise<Choices> {
  const answer = await fetch("choices");
  if (!answer.ok) throw new Error(`The gateway answered with status ${answer.status}.`);
  return (await answer.json()) as Choices;
}

const choices = await firstValueFrom(
  defer(readChoices).pipe(
    retry({
      delay: (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        document.querySelector("#notice")!.textContent = `The gateway cannot be reached: ${reason}`;
        return timer(PAUSE);
      },
    }),
  ),
);
startPage(gatewaySource("."), choices);
