/** What counts against a share of a rate limit: requests that went out, and turns given to some that are about to. */
export interface RequestWindow {
  /** When requests went out, ascending; those that a window of `per` ms can still see. */
  readonly starts: readonly number[];
  /** Turns that were given, and whose request has not gone out yet. */
  readonly turns: number;
  /** From when on each part of the share counts, ascending: what others sent before is over by then. */
  readonly parts: readonly number[];
}

export const emptyWindow: RequestWindow = { starts: [], turns: 0, parts: [] };

/** How many requests of a window a number of parts is worth. */
export type ShareRule = (parts: number) => number;

/** The instant from which on the next turn can be given; `Infinity` while there is none to come. */
export function opensAt(
  { starts, turns, parts }: RequestWindow,
  share: ShareRule,
  per: number,
  now: number,
): number {
  let first = Number.POSITIVE_INFINITY;
  for (const from of [now, ...parts.filter((part) => part > now)]) {
    const room = share(parts.filter((part) => part <= from).length) - turns;
    if (room <= 0) continue;
    const leaving = starts[starts.length - room];
    first = Math.min(first, leaving === undefined ? from : Math.max(from, leaving + per));
  }
  return first;
}

/** The window after a request has gone out; `hadTurn`: whether it was given a turn. */
export function wentOut(window: RequestWindow, per: number, at: number, hadTurn: boolean): RequestWindow {
  const starts = window.starts.filter((start) => start + per > at);
  return { ...window, starts: [...starts, at], turns: window.turns - (hadTurn ? 1 : 0) };
}

/** The window after the clock was set back by so many ms: what has passed has passed. */
export function setBack(window: RequestWindow, by: number): RequestWindow {
  return {
    ...window,
    starts: window.starts.map((start) => start - by),
    parts: window.parts.map((from) => from - by),
  };
}
