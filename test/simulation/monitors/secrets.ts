import { KEY, TOLD_KEYS } from "../interference.js";
import type { RunLog } from "../run-log.js";
import type { Monitor } from "./monitor.js";

/** What is searched at once. */
const BATCH = 10_000;

/** Promise 15, and that the key is in nothing that the library gives out. */
export const watchSecrets: Monitor = (log, context) => {
  const { start } = log.plan.world;
  const known = new WeakSet<object>();
  for (const [value, at] of givenOut(log)) {
    const thawed = firstThawed(value, known);
    if (thawed !== undefined) context.breach(15, `${thawed} is not frozen: ${textOf(value)}`, at);
  }
  const given = [...givenOut(log)];
  // All of a long run would be too long for one text.
  for (let from = 0; from < given.length; from += BATCH) {
    const batch = given.slice(from, from + BATCH);
    if (!tellsKey(textOf(batch))) continue;
    const [value, at] = batch.find(([one]) => tellsKey(textOf(one)))!;
    context.breach(15, `the key is in ${textOf(value)}`, at);
    break;
  }
  for (const { value, at } of log.warnings)
    if (/\p{Cc}/u.test(String(value[0])))
      context.breach(15, `a warning is not one line: ${textOf(value)}`, at);
  for (const { url, sent } of log.exchanges)
    if (url.includes(KEY)) context.breach(15, `the key is in ${url}`, sent - start);
};

/** Whether JSON holds the key in one of the forms that the service tells it in. */
function tellsKey(json: string): boolean {
  return TOLD_KEYS.some((told) => json.includes(JSON.stringify(told).slice(1, -1)));
}

function* givenOut({ activities, warnings, stays }: RunLog): Iterable<[unknown, number]> {
  for (const { value, at } of [...activities, ...warnings]) yield [value, at];
  for (const stay of stays) {
    for (const list of [stay.events, stay.statuses, stay.sniperEvents, stay.candles, stay.answers]) {
      for (const { value, at } of list) yield [value, at];
    }
    if (stay.ended?.isError) yield [stay.ended.value, stay.ended.at];
  }
}

/** What of a value can be written to; errors aside, which a catcher may add to. */
function firstThawed(value: unknown, known: WeakSet<object>, name = "it"): string | undefined {
  if (typeof value !== "object" || value === null || value instanceof Error || known.has(value))
    return undefined;
  known.add(value);
  if (!Object.isFrozen(value)) return name;
  for (const [key, inner] of Object.entries(value)) {
    const found = firstThawed(inner, known, `${name}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** All that can be read of a value, the hidden parts of errors too. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => {
    if (!(inner instanceof Error)) return inner;
    const { name, message, stack, cause } = inner;
    return { ...inner, name, message, stack, cause };
  });
}
