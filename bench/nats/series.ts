import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { quantile } from "../quantile.js";
import type { Measured, Order, Part, Purpose } from "./series/run.js";

/** The largest plan that is known of: 200 requests a second, counted over four seconds. */
const LIMIT = { requests: 800, per: 4_000 } as const;
/** One leads; it dies, and the next one leaves. */
const COLLECTORS = 3;
/** Of one request for candles. */
const UNITS = 150;
const DAY = 86_400_000;
/** Bytes of a real server, as `-- memory` and `-- volume` measure them: in memory for a kept message, on disk for each. */
const SERVER = { memory: 370, disk: 420 } as const;
/** The largest number of series that is worked out from what was measured. */
const MOST = 100_000;
const PURPOSES: readonly Purpose[] = ["closings", "first polls", "histories", "searches"];

/** What a group of collectors costs that polls so many series of a minute with one key, as tables in Markdown. */
export async function measureSeries(series: number, print: (line: string) => void): Promise<void> {
  print(
    `${series} series of \`1min\`, ${COLLECTORS} collectors, one key of ${LIMIT.requests} requests in ${LIMIT.per} ms\n`,
  );
  for (const trading of ["busy", "mixed"] as const) {
    const measured = await measure({ series, collectors: COLLECTORS, limit: LIMIT, trading });
    print(`### ${trading}\n`);
    tellParts(series, measured.parts, print);
    const { liveAfter, worstWindow, heap } = measured;
    print(`- all series live after ${seconds(liveAfter)}`);
    print(`- at most ${worstWindow} of ${LIMIT.requests} requests in any ${LIMIT.per} ms`);
    print(
      `- on the heap, a series: ${kilobytes(heap.collector)} of the collector that leads, ${kilobytes(heap.subscriber)} of the subscriber\n`,
    );
    tellOnPaper(series, measured, print);
  }
}

/** What more series cost: as many such groups, each with a key and a `name` of its own. */
function tellOnPaper(series: number, { parts, heap }: Measured, print: (line: string) => void): void {
  const steady = parts.find(({ name }) => name === "steady")!;
  print(
    "| series | keys | requests/s | units a day | messages/s | added to the streams a day | memory of the servers for that | written to disk a day | heap of all leaders | processor, all in all |",
  );
  print(`|${" --: |".repeat(10)}`);
  for (const groups of new Set([1, Math.ceil(MOST / series)])) {
    const time = steady.minutes * 60_000;
    const sent = PURPOSES.reduce((sum, purpose) => sum + steady.requests[purpose], 0);
    const daily = (count: number) => (groups * count * DAY) / time;
    const cells = [
      groups * series,
      groups,
      (daily(sent) / (DAY / 1_000)).toFixed(1),
      daily(sent * UNITS).toExponential(2),
      (daily(steady.messages) / (DAY / 1_000)).toFixed(0),
      daily(steady.added).toExponential(2),
      gigabytes(daily(steady.added) * SERVER.memory),
      gigabytes(daily(steady.messages) * SERVER.disk),
      gigabytes(groups * series * heap.collector),
      `${((100 * groups * steady.cpu) / time).toFixed(0)} % of a core`,
    ];
    print(`| ${cells.join(" | ")} |`);
  }
  print("");
}

function tellParts(series: number, parts: readonly Part[], print: (line: string) => void): void {
  print(
    `| part | minutes | ${PURPOSES.join(" | ")} | closings a series and minute | begun | kB answered | messages | bytes each | closes p50 | p99 | last | processor |`,
  );
  print(`| --- | --: | ${PURPOSES.map(() => "--:").join(" | ")}${" | --:".repeat(9)} |`);
  for (const part of parts) {
    const { name, minutes, requests, begun, answerBytes, messages, messageBytes, closes, cpu } = part;
    const cells = [
      name,
      minutes,
      ...PURPOSES.map((purpose) => requests[purpose]),
      (requests.closings / series / minutes).toFixed(3),
      begun,
      (answerBytes / 1_000).toFixed(0),
      messages,
      (messageBytes / messages).toFixed(0),
      ...[0.5, 0.99, 1].map((share) => seconds(quantile(closes, share))),
      `${(cpu / 1_000).toFixed(1)} s`,
    ];
    print(`| ${cells.join(" | ")} |`);
  }
  print("");
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(2)} GB`;
const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`;

async function measure(order: Order): Promise<Measured> {
  const program = fileURLToPath(new URL("series/run.ts", import.meta.url));
  const child = fork(program, [JSON.stringify(order)], { execArgv: [...process.execArgv, "--expose-gc"] });
  const failed = once(child, "exit").then(([code]): never => {
    throw new Error(`A run has ended with ${code}`);
  });
  failed.catch(() => {});
  const [measured] = await Promise.race([once(child, "message"), failed]);
  child.disconnect();
  return measured;
}
