import { PairstreamError } from "../errors.js";
import type { Listening } from "./listen.js";

/** Takes the place of `listen` in bundles for browsers and workers, so that these do not need its packages. */
export async function listen(): Promise<Listening> {
  throw new PairstreamError(
    "listen needs Node: in a page or worker, give the service's fetch to createClient instead",
  );
}
