import type { ClientOptions, FetchLike } from "pairstream";
import { demoService } from "pairstream/service";
import type { PastPlace } from "../terminal/past.js";

/** How a service is asked. */
export type ServiceOptions = Pick<ClientOptions, "baseUrl"> & {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: FetchLike;
};

/** The service of a place, and its pair. */
export function openService(place: PastPlace): { clientOptions: ServiceOptions; pair: string } {
  if (place.kind === "remote") {
    const { baseUrl, apiKey, pair } = place;
    return { clientOptions: { baseUrl, apiKey, fetch }, pair };
  }
  // A day old, so that there are candles of every length.
  const { pairs, clientOptions } = demoService({ seed: place.seed, createdAt: Date.now() - 86_400_000 });
  return { clientOptions, pair: pairs[0] };
}
