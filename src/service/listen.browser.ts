import { PairstreamError } from "../errors.js";
import type { Listening } from "./listen.js";

/** Takes the place of `listen` in bundles for browsers and workers, so that these do not need its packages. */
export async function listen(): Promise<Listening> {
  throw new PairstreamError(
    "listen needs Node: in a page or worker, pass the fetch of the service to createClient instead",
  );
}
