import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { FOLLOWERS, type Follower, MINUTE } from "./freshness/followers.js";
import { type Fate, type Stretch, trialOf } from "./freshness/trial.js";
import { circumstances, inWords } from "./machine.js";
import { quantile } from "./quantile.js";

/** Three days in parts that begin at another second of the minute each, as pollers do. */
const MEASURED: readonly Stretch[] = stretches(12, 360);
const CHECKED: readonly Stretch[] = stretches(2, 40);

/** How soon closed candles are there, whether they are right, and what that costs, under simulated time. */
export const freshness: Bench = { check, measure };

/** `Infinity`: never. */
type Delays = readonly [median: number, p99: number];

/** Of one follower over all stretches; delays in ms after a candle's minute is over. */
interface Figure {
  readonly name: string;
  readonly seen: Delays;
  readonly right: Delays;
  /** Candles of the service that were never there as closed. */
  readonly missed: number;
  /** Candles that differ for good from the service's, or that the service does not have in the end. */
  readonly wrong: number;
  readonly candles: number;
  readonly requests: number;
}

async function check(): Promise<readonly string[]> {
  const [own, ...others] = await figuresOf(CHECKED);
  for (const each of [own!, others[0]!]) {
    if (each.missed + each.wrong > 0) throw new Error(inShort(each));
  }
  return others.slice(1).map(inShort);
}

function inShort({ name, missed, wrong, candles }: Figure): string {
  return `${name}: of ${candles} candles ${missed} missed, ${wrong} wrong for good`;
}

async function measure({ command }: MeasureOptions): Promise<Report> {
  const figures = await figuresOf(MEASURED);
  const about = circumstances(["rxjs"], command);
  return {
    markdown: `${pageOf(figures)}\n\n${inWords(about)}`,
    goals: goalsOf(figures[0]!),
    results: { ...about, unit: "ms; null: never", figures },
  };
}

function stretches(count: number, minutes: number): Stretch[] {
  return Array.from({ length: count }, (_, at) => ({
    seed: at + 1,
    phase: Math.round(((at + 0.5) * MINUTE) / count),
    minutes,
  }));
}

async function figuresOf(stretches: readonly Stretch[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const follower of FOLLOWERS) figures.push(await figureOf(follower, stretches));
  return figures;
}

async function figureOf(follower: Follower, stretches: readonly Stretch[]): Promise<Figure> {
  const fates: Fate[] = [];
  let [requests, candles] = [0, 0];
  for (const stretch of stretches) {
    const trial = await trialOf(follower, stretch);
    fates.push(...trial.fates);
    requests += trial.requests;
    candles += trial.candles;
  }
  const real = fates.filter(({ isReal }) => isReal);
  const delays = (of: (fate: Fate) => number | undefined): Delays => {
    const all = real.map((fate) => of(fate) ?? Number.POSITIVE_INFINITY);
    return [quantile(all, 0.5), quantile(all, 0.99)];
  };
  return {
    name: follower.name,
    seen: delays(({ seenAfter }) => seenAfter),
    right: delays(({ rightAfter }) => rightAfter),
    missed: real.filter(({ seenAfter }) => seenAfter === undefined).length,
    wrong: fates.filter(({ seenAfter, rightAfter }) => seenAfter !== undefined && rightAfter === undefined)
      .length,
    candles,
    requests,
  };
}

function goalsOf({ missed, wrong, candles }: Figure): GoalResult[] {
  return [
    {
      row: "closed candles of three days, late swaps, forks and faults among them",
      goal: "each is there, and right in the end",
      figure: `of ${candles.toLocaleString("en-US")} ${missed} missed, ${wrong} wrong`,
      met: missed + wrong === 0,
    },
  ];
}

function pageOf(figures: readonly Figure[]): string {
  const lines = figures.map(({ name, seen, right, missed, wrong, candles, requests }) => {
    const share = (count: number) => `${((100 * count) / candles).toFixed(1)} %`;
    const cells = [name, inSeconds(seen), inSeconds(right), share(missed), share(wrong)];
    return `| ${[...cells, (requests / candles).toFixed(2)].join(" | ")} |`;
  });
  const minutes = MEASURED.reduce((sum, stretch) => sum + stretch.minutes, 0);
  const { candles } = figures[0]!;
  return `## Freshness

When a minute has ended, how long does it take until its closed candle is there, and until it has its last values? This was
measured over ${minutes / 1_440} simulated days of one pair, in ${MEASURED.length} runs that begin at different seconds of a minute. The service is
\`unsettled\` with its defaults: half of the swaps are visible at once, most others within a second, one in twenty is up to
two minutes late, and forks take some back. A message takes 40 ms each way, and about 3 % of the requests fail, hang or are
answered late. ${candles.toLocaleString("en-US")} of the ${minutes.toLocaleString("en-US")} minutes have a candle.

| | there, s | right, s | missed | wrong for good | requests a candle |
|---|---:|---:|---:|---:|---:|
${lines.join("\n")}

"There" is the delay until the closed candle is there, and "right" the delay until it has its last values. Both are the
median of all candles, with the 99th percentile in brackets. A candle is wrong for good if its last values differ from those
of the service, or if a fork has removed it and the program was not told. A late swap makes a candle right late;
\`watchCandles\` emits the correction with its next poll. The two \`timer\`s are written as well as such a poller can be:
\`switchMap\` to the newest candle whose minute is over, \`catchError\` inside it, and \`distinctUntilChanged\` on all
values.`;
}

function inSeconds(delays: Delays): string {
  const [median, p99] = delays.map((ms) => (Number.isFinite(ms) ? (ms / 1_000).toFixed(2) : "never"));
  return `${median} (${p99})`;
}
