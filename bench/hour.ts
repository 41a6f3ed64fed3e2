import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { row } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";
import { quantile } from "./quantile.js";
import type { FleetOptions, Minute } from "./scale/fleet.js";
import { ask, start } from "./scale/processes.js";

const SERIES = 10_000;
const MOST_MINUTES = 60;
/** Minutes of a round, so that as many as are usual make an hour. */
const A_ROUND = 2;
/** Bare calls keep nothing from one minute to the next, so that a few minutes show all of them. */
const MOST_BARE_MINUTES = 10;

/** `live`: of the closes; `delay`: of the event loop, in ms; `growth`: of the heap, from the first tenth to the last. */
const GOALS = { requests: 1.005, live: 0.97, delay: 50, growth: 1.05 };

/** An hour of minutes of 10,000 series in one process, then some minutes of it by bare calls. */
export const hour: Bench = { check: () => [], measure };

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const minutes = Math.min(MOST_MINUTES, A_ROUND * rounds);
  const [{ url }, service] = await start<{ url: string }>("./service.ts");
  const bareMinutes = Math.min(MOST_BARE_MINUTES, minutes);
  const of = async (by: FleetOptions["by"], during: number) => {
    const options: FleetOptions = { url, count: SERIES, minutes: during, by };
    return summedUp(by, (await ask<{ minutes: readonly Minute[] }>("./fleet.ts", options)).minutes);
  };
  const figures = [await of("watchCandles", minutes), await of("bare calls", bareMinutes)] as const;
  service.disconnect();
  const about = circumstances(["rxjs", "@hono/node-server"], command);
  return {
    goals: goalsOf(figures[0], minutes),
    markdown: `${pageOf(figures, minutes, bareMinutes)}\n\n${inWords(about)}`,
    results: { ...about, unit: "ms, MB", series: SERIES, minutes, bareMinutes, figures },
  };
}

/** Of all minutes. */
interface Figure {
  readonly by: string;
  /** For each closed candle; `Infinity` where none came. */
  readonly requests: number;
  readonly failures: number;
  /** Of as many closed candles as there are series and minutes. */
  readonly there: number;
  readonly live: number;
  /** Of the minutes, the median and the worst, in ms. */
  readonly last: readonly [number, number];
  readonly delay: readonly [number, number];
  /** ms a request. */
  readonly cpu: number;
  /** MB, the medians of the first and the last tenth of the minutes. */
  readonly heap: readonly [number, number];
}

function summedUp(by: string, minutes: readonly Minute[]): Figure {
  const total = (of: keyof Minute) => minutes.reduce((sum, minute) => sum + minute[of], 0);
  const spread = (of: keyof Minute): [number, number] => {
    const all = minutes.map((minute) => minute[of]);
    return [quantile(all, 0.5), Math.max(...all)];
  };
  const wanted = SERIES * minutes.length;
  const tenth = Math.ceil(minutes.length / 10);
  const heapOf = (some: readonly Minute[]) =>
    quantile(
      some.map(({ heap }) => heap / 1e6),
      0.5,
    );
  return {
    by,
    requests: total("requests") / total("closed"),
    failures: total("failures"),
    there: total("closed") / wanted,
    live: total("live") / wanted,
    last: spread("last"),
    delay: spread("delay"),
    cpu: total("cpu") / total("requests"),
    heap: [heapOf(minutes.slice(0, tenth)), heapOf(minutes.slice(-tenth))],
  };
}

function goalsOf({ requests, failures, live, delay, heap }: Figure, minutes: number): GoalResult[] {
  const of = `${SERIES.toLocaleString("en-US")} series of minutes for ${minutes} minutes`;
  const growth = heap[1] / heap[0];
  return [
    {
      row: of,
      goal: "1.00 requests a closed candle",
      figure: requests.toFixed(3),
      met: requests <= GOALS.requests,
    },
    { row: of, goal: "no request fails", figure: `${failures}`, met: failures === 0 },
    {
      row: of,
      goal: `${100 * GOALS.live} % of closes are \`live\``,
      figure: percent(live),
      met: live >= GOALS.live,
    },
    {
      row: of,
      goal: `the heap is flat: at most ${GOALS.growth} times that of the beginning`,
      figure: `${growth.toFixed(2)} times`,
      met: growth <= GOALS.growth,
    },
    {
      row: of,
      goal: `the event loop's delay is at most ${GOALS.delay} ms in 99 of 100 samples`,
      figure: inTime(delay),
      met: delay[0] <= GOALS.delay,
    },
  ];
}

function pageOf(figures: readonly Figure[], minutes: number, bareMinutes: number): string {
  const lines = figures.map((each) =>
    row([
      each.by,
      each.requests.toFixed(3),
      `${each.failures}`,
      percent(each.there),
      percent(each.live),
      inTime(each.last),
      inTime(each.delay),
      each.cpu.toFixed(2),
      each.heap.map((one) => one.toFixed(0)).join(" → "),
    ]),
  );
  return `## An hour

${SERIES.toLocaleString("en-US")} series of minutes at \`every: "close"\` in one process, for ${minutes} minutes, with \`rateLimit: false\`, so that all
are asked for at one instant. The service is in another process of the same machine. Then as many bare calls follow for
${bareMinutes} minutes, each behind a timer of its own that is due at the same instant: cross-fetch with kept connections, a
timeout, and \`JSON.parse\`.

| by | requests a closed candle | requests that failed | closed candles there | in time | last one there, ms | event loop's delay, p99, ms | CPU a request, ms | heap, MB |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
${lines.join("\n")}

Of times it is the median of the minutes, and the worst. A candle counts as there in its own minute, and in time within half
a minute of its close. The heap is collected between two closings, at the beginning and at the end.`;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const inTime = ([median, worst]: readonly [number, number]) => `${Math.round(median)} (${Math.round(worst)})`;
