import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, PairstreamError } from "pairstream";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { BODIES, type Body, LARGEST, QUERY } from "./hostile/bodies.js";
import type { Cost, ReaderOptions } from "./hostile/reader.js";
import type { ServedBody } from "./hostile/server.js";
import { circumstances, inWords } from "./machine.js";
import { ask, start } from "./scale/processes.js";

/** Every reading has a process of its own: more of them would take many minutes. */
const MOST_ROUNDS = 3;
/** What is checked is checked with bodies so much smaller. */
const CHECKED_SHARE = 1 / 2;
/** The message of an error is a line, whatever it quotes. */
const LONGEST_MESSAGE = 500;

/** More than what `JSON.parse` needs: ms, and times the largest body. */
const GOALS = { longer: 500, memory: 5 };

/** Bodies that are made to hold a process up, through a real server and a real client. */
export const hostile: Bench = { check, measure };

/** Each body is refused as it should be, or taken, and no error holds much of it. */
async function check(): Promise<readonly string[]> {
  let served: Body | undefined;
  const server = createServer((_, response) => {
    response.statusCode = served?.status ?? 200;
    response.end(served?.make(CHECKED_SHARE));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "the-key", retry: false });
  try {
    for (served of BODIES) {
      const call: Promise<unknown> =
        served.kind === "ohlcv"
          ? client.ohlcvPage(QUERY)
          : client.sniperReport({ pairAddress: QUERY.pairAddress });
      const error: unknown = await call.then(
        () => undefined,
        (reason) => reason,
      );
      expectOutcome(served, error);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return [];
}

function expectOutcome({ name, refusal }: Body, error: unknown): void {
  if (error === undefined && refusal === undefined) return;
  const isRight =
    error instanceof PairstreamError &&
    refusal?.test(error.message) === true &&
    error.message.length <= LONGEST_MESSAGE;
  if (!isRight) throw new Error(`${name}: ${error === undefined ? "taken" : String(error).slice(0, 200)}`);
}

/** What came out for one body: the least of all rounds. */
interface Figure extends Pick<ServedBody, "sent" | "size"> {
  readonly name: string;
  readonly isTaken: boolean;
  /** Through a client. */
  readonly own: Omit<Cost, "refusal" | "parsing">;
  /** With cross-fetch and `JSON.parse`. */
  readonly bare: Omit<Cost, "refusal">;
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const figures: Figure[] = [];
  for (const body of BODIES) figures.push(await figureOf(body, Math.min(rounds, MOST_ROUNDS)));
  const about = circumstances(["rxjs"], command);
  return {
    markdown: `${sectionOf(figures)}\n\n${inWords(about)}`,
    goals: goalsOf(figures),
    results: { ...about, unit: "ms, bytes", figures },
  };
}

async function figureOf({ name, kind, refusal }: Body, rounds: number): Promise<Figure> {
  const [{ url, sent, size }, server] = await start<ServedBody>("../hostile/server.ts", { name });
  const costs = { own: [] as Cost[], bare: [] as Cost[] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const side of ["own", "bare"] as const) {
        const options: ReaderOptions = { url, kind, isBare: side === "bare" };
        costs[side].push(await ask<Cost>("../hostile/reader.ts", options));
      }
    }
  } finally {
    server.disconnect();
  }
  const wrong = costs.own.find(({ refusal: told }) => (refusal ? !refusal.test(told) : told !== ""));
  if (wrong !== undefined) throw new Error(`${name}: ${wrong.refusal || "taken"}`);
  const least = (side: keyof typeof costs, field: "stillness" | "parsing" | "memory") =>
    Math.min(...costs[side].map((cost) => cost[field]));
  return {
    name,
    sent,
    size,
    isTaken: refusal === undefined,
    own: { stillness: least("own", "stillness"), memory: least("own", "memory") },
    bare: {
      stillness: least("bare", "stillness"),
      parsing: least("bare", "parsing"),
      memory: least("bare", "memory"),
    },
  };
}

function longerThanParsing({ own, bare }: Figure): number {
  return own.stillness - bare.parsing;
}

/** How many times the largest body more than with bare cross-fetch. */
function moreMemory({ own, bare }: Figure): number {
  return (own.memory - bare.memory) / LARGEST;
}

function goalsOf(figures: readonly Figure[]): GoalResult[] {
  const worstBy = (of: (figure: Figure) => number) => figures.toSorted((a, b) => of(b) - of(a))[0]!;
  const slowest = worstBy(longerThanParsing);
  const largest = worstBy(moreMemory);
  const longer = longerThanParsing(slowest);
  const ratio = moreMemory(largest);
  return [
    {
      row: "the worst body of 8 MiB",
      goal: `the event loop stands still for at most ${GOALS.longer} ms more than \`JSON.parse\` of the same text takes`,
      figure: `${Math.round(longer)} ms (${slowest.name})`,
      met: longer <= GOALS.longer,
    },
    {
      row: "the worst body of 8 MiB",
      goal: `at most ${GOALS.memory} times as much memory more than \`JSON.parse\` of the same text needs`,
      figure: `${ratio.toFixed(2)} (${largest.name})`,
      met: ratio <= GOALS.memory,
    },
  ];
}

function sectionOf(figures: readonly Figure[]): string {
  const lines = figures.map((figure) => {
    const { name, sent, size, isTaken, own, bare } = figure;
    const cells = [
      name,
      inKb(sent),
      inKb(size),
      isTaken ? "taken" : "refused",
      Math.round(own.stillness),
      Math.round(bare.parsing),
      Math.round(bare.stillness),
      inMb(own.memory),
      inMb(bare.memory),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return `## Hostile bodies

Answers that are made to hold a process up, and the largest good ones, over loopback from a server in another process,
compressed with gzip. Each is read in a process of its own: by a call of a client, and by cross-fetch and
\`JSON.parse\` with nothing around them.

| body | kB sent | kB of text | it is | event loop still, ms | \`JSON.parse\` alone, ms | still, with bare cross-fetch, ms | memory, MB | with bare cross-fetch, MB |
|---|---:|---:|---|---:|---:|---:|---:|---:|
${lines.join("\n")}

The event loop stands still while the text is put together, looked at, parsed and read; the longest time in which no
timer could fire is what counts. Memory is the peak of the process beyond what it had before. Each number is the least of
at most ${MOST_ROUNDS} processes: what else the machine does at the time only adds to it.`;
}

function inKb(bytes: number): string {
  return (bytes / 1e3).toLocaleString("en-US", { maximumFractionDigits: bytes < 1e4 ? 1 : 0 });
}

function inMb(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
