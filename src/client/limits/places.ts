/** The requests that count against a rate limit, as the service may see it. */
export interface Places {
  /** Requests under way: each may reach the service at any moment until its answer is here. */
  readonly underWay: number;
  /** Until when each of the others counts, ascending. */
  readonly leaving: readonly number[];
}

/** At most `requests` in any window of `per` ms. */
export interface RateLimit {
  readonly requests: number;
  readonly per: number;
}

/** The share of a limit that may be used doubles after as many requests as so many windows hold. */
const DOUBLING = 10;

/** The share after one more refusal. */
export function halved(share: number, { requests }: RateLimit): number {
  return Math.max(1 / requests, share / 2);
}

/** The share after one more start. Time alone changes nothing: it does not show what the service allows. */
export function grown(share: number, limit: RateLimit): number {
  return Math.min(1, share * 2 ** (1 / DOUBLING / allowed(share, limit)));
}

/** How many requests may count at once. */
export function allowed(share: number, { requests }: RateLimit): number {
  return Math.max(1, Math.floor(requests * share));
}

export const noPlaces: Places = { underWay: 0, leaving: [] };

/** The instant from which on the next request may start; `Infinity` while that depends on those under way. */
export function opensAt({ underWay, leaving }: Places, requests: number, now: number): number {
  const inTheWay = underWay + leaving.length + 1 - requests;
  if (inTheWay <= 0) return now;
  return inTheWay > leaving.length ? Infinity : Math.max(now, leaving[inTheWay - 1]!);
}

/** The places after a request has started. */
export function entered(places: Places, now: number): Places {
  return { underWay: places.underWay + 1, leaving: places.leaving.filter((until) => until > now) };
}

/** The places after a request has ended. It counts until an instant; `undefined` if it was never sent. */
export function ended(places: Places, until: number | undefined): Places {
  const underWay = places.underWay - 1;
  if (until === undefined) return { ...places, underWay };
  const { leaving } = places;
  const at = leaving.findLastIndex((other) => other <= until) + 1;
  return { underWay, leaving: [...leaving.slice(0, at), until, ...leaving.slice(at)] };
}

/** The places after the scheduler's clock was set back: the time that has passed still counts. */
export function setBack({ underWay, leaving }: Places, by: number): Places {
  return { underWay, leaving: leaving.map((until) => until - by) };
}
