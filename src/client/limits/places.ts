/** The requests that count against a rate limit, as the service may see it. */
export interface Places {
  /** Requests under way: each may reach the service at any moment until its answer is here. */
  readonly underWay: number;
  /** Until when each of the others counts, ascending. */
  readonly leaving: readonly number[];
}

/** How many requests may count at once, from an instant on. */
export interface Allowance {
  readonly from: number;
  readonly requests: number;
}

/** At most `requests` in any window of `per` ms. */
export interface RateLimit {
  readonly requests: number;
  readonly per: number;
}

/** From `since` on, a client starts no more than a share of its rate limit, as the service has refused requests. */
export interface SlowDown {
  readonly share: number;
  readonly since: number;
}

/** In how many windows the share doubles. */
const DOUBLING = 10;

/** The slow-down after one more refusal. */
export function slowed(slow: SlowDown | undefined, { requests, per }: RateLimit, now: number): SlowDown {
  const share = slow ? shareAt(slow, Math.floor((now - slow.since) / per)) : 1;
  return { share: Math.max(1 / requests, share / 2), since: now };
}

/** How many requests may count at once, from which instant on: all that the limit allows, or ever more until then. */
export function allowancesOf({ requests, per }: RateLimit, slow: SlowDown | undefined): readonly Allowance[] {
  if (slow === undefined) return [{ from: -Infinity, requests }];
  const windows = Math.ceil(DOUBLING * Math.log2(1 / slow.share));
  return Array.from({ length: windows + 1 }, (_, window) => ({
    from: window === 0 ? -Infinity : slow.since + window * per,
    requests: Math.max(1, Math.floor(requests * shareAt(slow, window))),
  }));
}

/** The share that many windows after the refusal. */
function shareAt({ share }: SlowDown, windows: number): number {
  return Math.min(1, share * 2 ** (windows / DOUBLING));
}

export const noPlaces: Places = { underWay: 0, leaving: [] };

/** The instant from which on the next request may start; `Infinity` while that depends on those under way. */
export function opensAt({ underWay, leaving }: Places, rooms: readonly Allowance[], now: number): number {
  let first = Infinity;
  for (const { from, requests } of rooms) {
    const start = Math.max(from, now);
    const inTheWay = underWay + leaving.length + 1 - requests;
    if (inTheWay <= 0) first = Math.min(first, start);
    else if (inTheWay <= leaving.length) first = Math.min(first, Math.max(start, leaving[inTheWay - 1]!));
  }
  return first;
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
