import { type Candle, type Cost, HttpError, intervalOf, type Series, type Timeframe } from "pairstream";
import { type Asker, Ending } from "./asker.js";
import { compareLonger } from "./longer.js";
import { fits, kindly, type Note, unasked, wrong } from "./notes.js";
import { headerNotes, orderOf, pageNotes, rawRows, startOf } from "./page-notes.js";
import { refusalNotes } from "./refusals.js";
import type { Told } from "./report.js";
import { sniperNotes } from "./sniper-notes.js";
import { routeOf, type Subject } from "./subject.js";

/** How many rows the first pages are asked for. */
const LIMIT = 10;
const DAY = 86_400_000;

interface Question {
  readonly name: string;
  /** At most. */
  readonly requests: number;
  readonly unitsEach: number;
  ask(subject: Subject): Promise<readonly Note[]>;
}

const candles = (name: string, ask: Question["ask"], requests = 1): Question => ({
  name,
  requests,
  unitsEach: 150,
  ask,
});

export const QUESTIONS: readonly Question[] = [
  candles("the newest candles", newest, 2),
  candles("the next page", nextPage),
  candles("the same candles again, to their very bounds", again),
  candles("longer candles, beside what they are made of", compareLonger, 2),
  candles("the other currency", async ({ asker, series, range }) => {
    const currency = series.currency === "usd" ? "native" : "usd";
    const { value } = await asker.read((client) =>
      client.ohlcvPage({ ...series, ...range, currency, limit: LIMIT }),
    );
    const count = value.result.length;
    return [count > 0 ? fits(`${count} candles in ${currency}`) : kindly(`no candles in ${currency}`)];
  }),
  candles("weeks", weeks),
  candles("a range that begins long before the pair", sinceEver),
  candles("a range of calendar dates", dates),
  {
    name: "snipers",
    requests: 1,
    unitsEach: 50,
    ask: snipers,
  },
  ...refusalNotes.map(([name, ask]) => candles(name, ask)),
];

export const BUDGET: Cost = QUESTIONS.reduce(
  (all, { requests, unitsEach }) => ({
    requests: all.requests + requests,
    units: all.units + requests * unitsEach,
  }),
  { requests: 0, units: 0 },
);

/** Asks one question after the other; the last ones are left where nothing more should be sent. */
export async function* askAll(
  asker: Asker,
  series: Series<Timeframe>,
  now = Date.now(),
): AsyncGenerator<Told> {
  const { start, end } = intervalOf(series.timeframe, now);
  const fromDate = intervalOf(series.timeframe, Math.max(0, start - 999 * (end - start))).start;
  const subject: Subject = { asker, series, range: { fromDate, toDate: end } };
  let ending: string | undefined;
  for (const { name, ask } of QUESTIONS) {
    if (ending !== undefined) {
      yield { question: name, notes: [unasked("the check has ended before")] };
      continue;
    }
    try {
      yield { question: name, notes: await ask(subject) };
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof Ending) ending = message;
      yield { question: name, notes: [wrong(message)] };
    }
  }
}

async function newest(subject: Subject): Promise<Note[]> {
  const { asker, series, range } = subject;
  const ask = async (fromDate: number) =>
    await asker.read((client) => client.ohlcvPage({ ...series, ...range, fromDate, limit: LIMIT }));
  let { value: page, answer } = await ask(range.fromDate);
  // A pair may be younger than that.
  if (page.result.length === 0) {
    const { start, end } = intervalOf(series.timeframe, range.toDate - 1);
    ({ value: page, answer } = await ask(Math.max(0, start - 30 * (end - start))));
  }
  if (page.result.length === 0)
    return [unasked("no candles now; take a pair that is traded, or longer candles")];
  subject.first = page;
  const shown = fits(
    `${page.result.length} candles${orderOf(page.result) === "newest" ? ", newest first" : ""}`,
  );
  return [shown, ...pageNotes(answer, page, LIMIT), ...headerNotes(answer, page)];
}

async function nextPage({ asker, series, range, first }: Subject): Promise<Note[]> {
  if (first === undefined) return [unasked("no candles were shown")];
  const shown = new Set(first.result.map(({ timestamp }) => timestamp));
  const { cursor } = first;
  if (cursor === undefined) {
    // Whether there is more is seen before the oldest candle, or behind the newest.
    const isOldestFirst = orderOf(first.result) === "oldest" && shown.size > 1;
    const [from, to] = isOldestFirst
      ? [Math.max(...shown) + 1_000, range.toDate]
      : [range.fromDate, Math.min(...shown)];
    if (from >= to) return [fits("there is none")];
    const { value } = await asker.read((client) =>
      client.ohlcvPage({ ...series, fromDate: from, toDate: to, limit: LIMIT }),
    );
    if (value.result.some(({ timestamp }) => !shown.has(timestamp)))
      return [wrong("the first page has no cursor, though the range holds more candles")];
    return [fits("there is none")];
  }
  const { value: page, answer } = await asker.read((client) =>
    client.ohlcvPage({ ...series, ...range, cursor }),
  );
  const isNew = ({ timestamp }: Candle) => !shown.has(timestamp);
  if (page.result.length === 0)
    return [
      page.cursor === undefined
        ? kindly("it is empty")
        : wrong("the cursor leads to an empty page with a cursor"),
    ];
  if (!page.result.some(isNew)) return [wrong("the cursor leads back to candles of the first page")];
  if (page.cursor === cursor) return [wrong("the cursor of the next page is the one that led there")];
  const repeated = page.result.filter((candle) => !isNew(candle)).length;
  return [
    fits(`${page.result.length} more candles`),
    ...(repeated > 0 ? [kindly(`candles of the first page: ${repeated}`)] : []),
    ...pageNotes(answer, page),
  ];
}

async function again({ asker, series, first, range }: Subject): Promise<Note[]> {
  const { start, end } = intervalOf(series.timeframe, range.toDate - 1);
  const settled = start - (end - start);
  const known = (first?.result ?? [])
    .filter(({ timestamp }) => timestamp < settled)
    .sort((a, b) => a.timestamp - b.timestamp);
  const [oldest, last] = [known[0], known.at(-1)];
  if (oldest === undefined || last === undefined || known.length < 3)
    return [unasked("too few closed candles were shown")];
  const bounds = { fromDate: oldest.timestamp, toDate: last.timestamp, limit: 1_000 };
  const { value, answer } = await asker.read((client) => client.ohlcvPage({ ...series, ...bounds }));
  if (value.cursor !== undefined) return [kindly(`a page does not hold these ${known.length} candles`)];
  const served = new Map(value.result.map((candle) => [candle.timestamp, candle]));
  const inner = known.slice(1, -1);
  const lost = inner.filter(({ timestamp }) => !served.has(timestamp)).length;
  if (lost > 0) return [wrong(`candles that it has just shown are missing: ${lost} of ${inner.length}`)];
  const changed = inner.filter((candle) => !isSame(candle, served.get(candle.timestamp)!)).length;
  const starts = new Set(rawRows(answer).map(startOf));
  const bound = boundsNote(starts.has(oldest.timestamp), starts.has(last.timestamp));
  return changed === 0 ? [bound] : [bound, kindly(`closed candles that have changed meanwhile: ${changed}`)];
}

function boundsNote(hasStart: boolean, hasEnd: boolean): Note {
  if (hasStart && !hasEnd) return fits("fromDate counts in, toDate does not");
  if (hasStart) return kindly("toDate counts in");
  return kindly(hasEnd ? "toDate counts in, fromDate does not" : "fromDate does not count in");
}

function isSame(a: Candle, b: Candle): boolean {
  return (Object.keys(a) as (keyof Candle)[]).every((field) => a[field] === b[field]);
}

async function weeks({ asker, series, range: { toDate } }: Subject): Promise<Note[]> {
  const query = { ...series, timeframe: "1w", fromDate: toDate - 30 * DAY, toDate, limit: LIMIT } as const;
  const { value } = await asker.read((client) => client.ohlcvPage(query));
  const days = new Set(value.result.map(({ timestamp }) => new Date(timestamp).getUTCDay()));
  if (days.size === 0) return [kindly("none came: they may begin before the pair")];
  if (days.size > 1) return [wrong("they begin on several days")];
  return [
    days.has(1)
      ? fits("they begin on Monday")
      : kindly('they begin on Thursday, so set weekStart: "thursday"'),
  ];
}

async function sinceEver({ asker, series, range: { toDate } }: Subject): Promise<Note[]> {
  const query = { ...series, timeframe: "1M", fromDate: 0, toDate, limit: LIMIT } as const;
  const { value } = await asker.read((client) => client.ohlcvPage(query));
  if (value.result.length > 0) return [fits("it shows the candles of the pair")];
  return [kindly("it comes back empty, so the beginning of a pair is looked for")];
}

async function dates({ asker, series, range: { toDate } }: Subject): Promise<Note[]> {
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const days = { fromDate: dayOf(toDate - DAY), toDate: dayOf(toDate + DAY) };
  const { status } = await asker.ask(routeOf(series, days));
  return [status === 200 ? fits("it is answered") : kindly(`status ${status}; pairstream asks with seconds`)];
}

async function snipers({ asker, series }: Subject): Promise<Note[]> {
  if (series.network !== "mainnet") return [fits("only mainnet has them")];
  const { pairAddress } = series;
  const asked = asker.read((client) => client.sniperReport({ pairAddress, blocksAfterCreation: 1_000 }));
  const read = await asked.catch((error: unknown) => {
    if (error instanceof HttpError && error.status === 404) return undefined;
    throw error;
  });
  if (read === undefined)
    return [kindly("status 404: watchSnipers and watchSniperReport end with it, and candles do without")];
  const count = read.value.result.length;
  return [fits(`${count} ${count === 1 ? "wallet" : "wallets"}`), ...sniperNotes(read.answer, read.value)];
}
