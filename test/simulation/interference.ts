import type { SchedulerLike } from "rxjs";
import { FAULT_KINDS, type FaultKind, withFaults } from "../../src/service/index.js";
import { chanceOf } from "./draw.js";
import { type Answer, answerOf, type Fetch, withHeaders } from "./exchanges.js";
import type { AnswerFault, CutFault, Fault } from "./faults.js";

/** Whoever reads this in a log has found a leak. */
export const KEY = "k3y-that-nobody-may-see";

const hexOf = (character: string) => character.charCodeAt(0).toString(16);
const escapedBy = (write: (character: string) => string) => [...KEY].map(write).join("");

/** How an answer can repeat the key: as it is, and as JSON, HTML and URLs escape it. */
export const TOLD_KEYS: readonly string[] = [
  KEY,
  KEY.toUpperCase(),
  escapedBy((character) => `\\u${hexOf(character).padStart(4, "0")}`),
  escapedBy((character) => `&#x${hexOf(character)};`),
  escapedBy((character) => `&#${character.charCodeAt(0)};`),
  escapedBy((character) => `%${hexOf(character)}`),
];

export type TimedFault = Extract<Fault, { rate: number }>;

const refusal = (status: number, message: string | string[]) =>
  answerOf(status, JSON.stringify({ message, statusCode: status }));

const REFUSALS: Readonly<Record<Exclude<AnswerFault, FaultKind | "key told">, () => Answer>> = {
  "400": () => refusal(400, ["fromDate must not be after toDate"]),
  "401": () => refusal(401, `Unauthorized: ${KEY}`),
  "403": () => answerOf(403, "<html><body>Forbidden</body></html>"),
  "404": () => refusal(404, "Pair not found"),
  "424": () => answerOf(424, "Token is invalid format"),
  "spent quota": () =>
    refusal(
      401,
      "Validation service blocked: Your plan: free-plan-daily total included usage has been consumed",
    ),
};

/** The way to a service on which a fault strikes every call. */
export function struckBy(
  fault: Exclude<TimedFault, CutFault>,
  fetch: Fetch,
  { seed, scheduler }: { seed: number; scheduler: SchedulerLike },
): Fetch {
  if (fault.kind === "bad rows") {
    return async (url, init) => {
      const answer = await fetch(url, init);
      const text = async () =>
        withBadRows(await answer.text(), (row) => chanceOf(seed, "bad", row) < fault.share);
      return { ...answer, text };
    };
  }
  const { kind } = fault;
  if (isOfField(kind)) {
    const own = Math.floor(chanceOf(seed, kind, fault.from) * 2 ** 32);
    return withFaults(fetch, { seed: own, scheduler, rates: { [kind]: 1 } });
  }
  return async (url, init) => {
    const { headers } = await fetch(url, init);
    const [date, age] = [headers.get("date"), headers.get("age")];
    if (kind === "key told") {
      const line = `X-API-Key: ${TOLD_KEYS[Math.floor(chanceOf(seed, url, "told") * TOLD_KEYS.length)]}`;
      if (chanceOf(seed, url) >= 0.3) return withHeaders(answerOf(500, `<pre>${line}</pre>`), { date, age });
      throw Object.assign(new Error(`socket hang up after ${line}`), { code: "ECONNRESET", init });
    }
    return withHeaders(REFUSALS[kind](), { date, age });
  };
}

function isOfField(kind: AnswerFault): kind is FaultKind {
  return (FAULT_KINDS as readonly string[]).includes(kind);
}

/** The same candles, some of them without a close. */
function withBadRows(body: string, isBad: (timestamp: string) => boolean): string {
  try {
    const page = JSON.parse(body) as { result: { timestamp?: unknown }[] };
    const result = page.result.map((row) => {
      const { timestamp } = row;
      return typeof timestamp === "string" && isBad(timestamp) ? { ...row, close: null } : row;
    });
    return JSON.stringify({ ...page, result });
  } catch {
    // Another fault has left no page of it.
    return body;
  }
}
