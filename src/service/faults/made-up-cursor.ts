// A made-up cursor carries the number of steps that a walk has made along such cursors, so that nothing has to be kept
// between calls.
const PREFIX = "withFaults.";
const MADE_UP = /^withFaults\.(\d+)/;
const IN_URL = /([?&])cursor=withFaults\.[^&#]*(&?)/;

/** A cursor that no service knows; at least so many characters long. */
export function madeUpCursor(step: number, length = 0): string {
  return `${PREFIX}${step}`.padEnd(length, "-long");
}

/** How many steps a walk has made along made-up cursors; 0 where this cursor is none. */
export function stepsBy(cursor: string | undefined): number {
  return Number(MADE_UP.exec(cursor ?? "")?.[1] ?? 0);
}

/** The cursor that a URL asks with; `undefined` where it has none. */
export function cursorIn(url: string): string | undefined {
  const [, parameter] = /[?&](cursor=[^&#]*)/.exec(url) ?? [];
  return new URLSearchParams(parameter).get("cursor") || undefined;
}

/** The URL as the service is asked: the same, without a cursor that is made up. */
export function withoutMadeUpCursor(url: string): string {
  return url.replace(IN_URL, (_, before: string, after: string) => (after === "" ? "" : before));
}
