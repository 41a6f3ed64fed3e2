import { pageBody, row } from "../client/fake-service.js";

/** What a service does with a request; `"refuses"`: the connection, `"hangs"`: never answers. */
type Answer =
  | {
      readonly status: number;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | "refuses"
  | "hangs";

export interface PoorService {
  readonly answer: (url: URL) => Answer;
  /** Words that name the reason. */
  readonly words: RegExp;
  /** Whether a stream ends: with its first answer, after a minute of them, or never. */
  readonly ends: "at once" | "after a minute" | "never";
  /** In how many seconds the words have to come; default: 15. */
  readonly within?: number;
}

const says = (status: number, message: string, headers = {}): Answer => ({
  status,
  body: JSON.stringify({ message }),
  headers: { "content-type": "application/json", ...headers },
});

/** A page of the candles that were asked for, changed; snipers are none. */
function page(url: URL, rowsOf: (from: number, to: number) => unknown[]): Answer {
  const { searchParams: query, pathname } = url;
  if (pathname.endsWith("/snipers")) return says(404, "no snipers");
  const [from, to] = ["fromDate", "toDate"].map((name) => Number(query.get(name)) * 1_000);
  const pairAddress = pathname.split("/").at(-2);
  const echoed = { pairAddress, timeframe: query.get("timeframe"), currency: query.get("currency") };
  return { status: 200, body: pageBody(rowsOf(from!, to!), echoed) };
}

/** Rows of 10 s candles without the field `swaps`, at most as many as were asked for. */
function withoutSwaps(from: number, to: number): unknown[] {
  const first = Math.ceil(from / 10_000) * 10_000;
  const count = Math.min(100, Math.max(0, Math.ceil((to - first) / 10_000)));
  return Array.from({ length: count }, (_, at) => row(first + at * 10_000, { swaps: undefined }));
}

/** Thirteen services that cannot work, or not now. */
export const POOR_SERVICES: Readonly<Record<string, PoorService>> = {
  "402": { answer: () => says(402, "Upgrade your plan"), words: /“Upgrade your plan”.*402/, ends: "at once" },
  "410": { answer: () => says(410, "Use v3"), words: /“Use v3”.*410/, ends: "at once" },
  "a redirect": {
    answer: () => ({ status: 301, body: "", headers: { location: "https://elsewhere.example/" } }),
    words: /status 301, a redirect to https:\/\/elsewhere\.example\//,
    ends: "at once",
  },
  "404": {
    answer: () => says(404, "Pair is not supported"),
    words: /“Pair is not supported”.*404/,
    ends: "after a minute",
  },
  "500": { answer: () => says(500, "database is down"), words: /“database is down”.*500/, ends: "never" },
  "200 with a message": {
    answer: () => says(200, "upstream timed out"),
    words: /“upstream timed out”: the answer breaks the contract/,
    ends: "after a minute",
  },
  "200 with HTML": {
    answer: () => ({ status: 200, body: "<!doctype html><title>Welcome</title>" }),
    words: /not JSON|breaks the contract/,
    ends: "after a minute",
  },
  "a refused connection": { answer: () => "refuses", words: /got no answer.*ECONNREFUSED/, ends: "never" },
  "rows without swaps": {
    answer: (url) => page(url, withoutSwaps),
    words: /swaps: missing, and so is trades/,
    ends: "after a minute",
  },
  "one that never answers": {
    answer: () => "hangs",
    words: /(no answer for 10 s|not answered in full within 10000 ms).*timeout/,
    ends: "never",
  },
  "429 with a long Retry-After": {
    answer: () => says(429, "slow down", { "retry-after": "3600" }),
    words: /“slow down”.*429.*asks again at/,
    ends: "never",
  },
  "a spent quota": {
    answer: () => says(401, "Your plan: free-plan-daily total included usage has been consumed"),
    words: /usage has been consumed”.*401.*asks again (at|in)/,
    ends: "never",
  },
  "good pages without a candle": {
    answer: (url) => page(url, () => []),
    words: /no swaps seen; is it the pair's address\?/,
    ends: "never",
    within: 75,
  },
};
