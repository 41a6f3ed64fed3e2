// What a bundle for browsers has in place of `sweep-workers.ts`: the field `browser` of package.json names both. Nothing
// else imports it. So no bundler looks there for the file of a worker.
import { PairstreamError } from "../errors.js";
import { NO_WORKERS } from "./sweep-error.js";

/** There are none. */
export function usualWorkers(): number {
  return 1;
}

/** Rejects: a page has no worker threads of Node. */
export async function sweepInWorkers(): Promise<never> {
  throw new PairstreamError(NO_WORKERS);
}
