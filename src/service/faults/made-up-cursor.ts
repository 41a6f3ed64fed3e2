// A made-up cursor holds the number of steps that the walk made along such cursors, so nothing has to be stored between
// calls.
const PREFIX = "withFaults.";
const MADE_UP = /^withFaults\.(\d+)/;
const IN_URL = /([?&])cursor=withFaults\.[^&#]*(&?)/;

/** A cursor unknown to any service, at least `length` characters long. */
export function madeUpCursor(step: number, length = 0): string {
  return `${PREFIX}${step}`.padEnd(length, "-long");
}

/** The number of steps in a made-up cursor; 0 for any other cursor. */
export function stepsBy(cursor: string | undefined): number {
  return Number(MADE_UP.exec(cursor ?? "")?.[1] ?? 0);
}

/** The cursor in a URL; `undefined` if there is none. */
export function cursorIn(url: string): string | undefined {
  const [, parameter] = /[?&](cursor=[^&#]*)/.exec(url) ?? [];
  return new URLSearchParams(parameter).get("cursor") || undefined;
}

/** The URL for the service: the same without a made-up cursor. */
export function withoutMadeUpCursor(url: string): string {
  return url.replace(IN_URL, (_, before: string, after: string) => (after === "" ? "" : before));
}
