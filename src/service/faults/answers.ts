import type { FetchLike } from "../service.js";
import { BODY_FAULTS, faultyBody } from "./body.js";
import type { CachedAnswer } from "./cache.js";
import type { FaultKind } from "./kinds.js";
import type { FaultsOfCall } from "./options.js";

type FetchAnswer = Awaited<ReturnType<FetchLike>>;
type Tell = (kind: FaultKind) => void;
/** Headers by lower-case name; `null` removes a header. */
type Headers = Record<string, string | null>;

/** When the answer came by the scheduler, and how far its Date is off, both in ms. */
interface DateFaults {
  readonly now: number;
  readonly jumped: number;
  readonly wrong: number;
}

/** A cached answer that can replace the service's, and the cursor of the request. */
interface Circumstances {
  /** The cached answer, if the cache has to answer. */
  readonly cached: CachedAnswer | undefined;
  /** The cursor in the request. */
  readonly cursor: string | undefined;
}

/** Applies the faults of a call that change its answer. */
export async function faultyAnswer(
  answer: FetchAnswer,
  faults: FaultsOfCall,
  tell: Tell,
  dates: DateFaults,
  { cached, cursor }: Circumstances,
): Promise<FetchAnswer> {
  const date = faultyDate(answer, faults, tell, dates);
  for (const [kind, standIn] of STAND_INS) {
    const random = faults.get(kind);
    if (random === undefined) continue;
    tell(kind);
    // An unread body would hold its connection.
    await answer.text();
    const { status, type, body, retryAfter = null } = standIn(random, date.instant);
    const headers = { ...date.headers, "content-type": type, "retry-after": retryAfter };
    return changed(answer, headers, { status, body });
  }
  if (cached !== undefined) {
    const isSame = (await answer.text()) === cached.body && answer.status === 200;
    if (!isSame) tell("cached");
    const headers = { ...date.headers, "content-type": cached.type, "retry-after": null };
    return changed(answer, headers, { status: 200, body: cached.body });
  }
  if (answer.status !== 200 || !BODY_FAULTS.some((kind) => faults.has(kind))) {
    return date.headers.date === undefined ? answer : changed(answer, date.headers);
  }
  const body = faultyBody(await answer.text(), faults, tell, cursor);
  return changed(answer, date.headers, { status: 200, body });
}

function changed(
  answer: FetchAnswer,
  headers: Headers,
  given?: { status: number; body: string },
): FetchAnswer {
  const all: Headers = given === undefined ? headers : { ...headers, "content-length": null };
  return {
    status: given?.status ?? answer.status,
    headers: {
      get: (name) => {
        const value = all[name.toLowerCase()];
        return value === undefined ? answer.headers.get(name) : value;
      },
    },
    text: async () => given?.body ?? answer.text(),
  };
}

/** The headers changed by the faults of dates, and the instant that the answer claims. */
function faultyDate(
  answer: FetchAnswer,
  faults: FaultsOfCall,
  tell: Tell,
  { now, jumped, wrong }: DateFaults,
): { headers: Headers; instant: number } {
  const served = answer.headers.get("date");
  const date = Date.parse(served ?? "");
  if (served !== null && faults.has("noDate")) {
    tell("noDate");
    return { headers: { date: null }, instant: Number.isNaN(date) ? now : date };
  }
  if (Number.isNaN(date)) return { headers: {}, instant: now };
  if (wrong !== 0) tell("wrongDate");
  const instant = date + jumped + wrong;
  return { headers: instant === date ? {} : { date: new Date(instant).toUTCString() }, instant };
}

// Answers in the service's place -------------------------------------------------------------------------

interface StandIn {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly retryAfter?: string;
}

const PAGE =
  "<!DOCTYPE html>\n<html><head><title>Just a moment</title></head><body>Please wait.</body></html>";

const NESTED: StandIn = { ...json(200, null), body: "[".repeat(20_000) };

function html(status: number): StandIn {
  return { status, type: "text/html; charset=utf-8", body: PAGE };
}

function json(status: number, body: object | null): StandIn {
  return { status, type: "application/json; charset=utf-8", body: JSON.stringify(body) };
}

function refusalStandIn(status: number, message: string): StandIn {
  return json(status, { message, statusCode: status });
}

/** In the order of `FAULT_KINDS`. Each takes random numbers and the instant that its answer claims. */
const STAND_INS = new Map<FaultKind, (random: () => number, instant: number) => StandIn>([
  ["408", () => refusalStandIn(408, "Request Timeout")],
  ["425", () => refusalStandIn(425, "Too Early")],
  [
    "429",
    (random, instant) => {
      const answer = refusalStandIn(429, "Too Many Requests");
      const manner = random();
      const seconds = hint(random);
      if (manner < 1 / 3) return answer;
      const isDate = manner < 2 / 3;
      const retryAfter = isDate ? new Date(instant + seconds * 1_000).toUTCString() : String(seconds);
      return { ...answer, retryAfter };
    },
  ],
  [
    "5xx",
    (random) => {
      const status = [500, 502, 503, 504][Math.floor(4 * random())]!;
      if (status === 500) return refusalStandIn(500, "Internal Server Error");
      // The answer of a proxy that cannot reach the service.
      if (status !== 503) return html(status);
      const answer = refusalStandIn(503, "Service Unavailable");
      return random() < 0.5 ? { ...answer, retryAfter: String(hint(random)) } : answer;
    },
  ],
  ["html", () => html(200)],
  ["null", () => json(200, null)],
  ["errorBody", () => json(200, { message: "upstream timed out" })],
  ["nested", () => NESTED],
]);

/** A delay in seconds, 1 to 8. */
function hint(random: () => number): number {
  return 1 + Math.floor(8 * random());
}
