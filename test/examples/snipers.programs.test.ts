import { EventEmitter, once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path/posix";
import { createPairService, listen, type PairService, type Swap } from "pairstream/service";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { Alert } from "../../examples/snipers/alerts.js";
import type { OutboxState } from "../../examples/snipers/outbox.js";
import { temporaryFolder } from "./files.js";
import { endAll, expectRefusal, type Program, run } from "./program.js";

const EXAMPLE = "examples/snipers.ts";
const PAIR = "pair1";
const KEY = { PAIRSTREAM_API_KEY: "any" };
const CREATED = Date.now() - 3_600_000;
const KILLER = new URL("snipers/kill-at.js", import.meta.url).href;
/** How many programs a test kills at once. */
const AT_ONCE = 3;

afterEach(endAll);

/** A service whose pair `ann` and `bob` have sniped; `ann` has sold some. */
async function market() {
  const pairs = new Set([PAIR]);
  const swaps: Swap[] = [];
  const swap = (walletAddress: string, side: Swap["side"], tokenAmount: number, usdAmount: number) => {
    const number = swaps.length;
    const timestamp = CREATED + number * 1_000;
    swaps.push({
      ...{ walletAddress, side, tokenAmount, usdAmount, timestamp, nativeAmount: usdAmount },
      ...{ blockNumber: 100 + Math.floor(number / 4), transactionHash: `hash${number}` },
    });
  };
  swap("ann", "buy", 10, 100);
  swap("bob", "buy", 4, 40);
  swap("ann", "sell", 1, 20);
  const service = createPairService({
    source: {
      pair: (_network, address) =>
        !pairs.has(address)
          ? undefined
          : {
              tokenAddress: "token",
              createdAt: CREATED,
              swaps: ({ from, to, asOf }) =>
                swaps.filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf),
            },
    },
  });
  const fetch = async (request: Request) =>
    request.url.includes("/gone/") ? new Response(null, { status: 410 }) : service.fetch(request);
  const { url, close } = await listen({ fetch } as PairService, { port: 0 });
  onTestFinished(close);
  return { url, swap, pairs };
}

/** A receiver of alerts; `answer` gives the status of its answer, 0 to reset the connection. */
async function receiver(answer: (attempt: number) => number = () => 204) {
  const taken: { key: string; alert: Alert }[] = [];
  const heard = new EventEmitter();
  let attempts = 0;
  const hear: RequestListener = async (request, response) => {
    attempts += 1;
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const status = answer(attempts);
    if (status === 0) {
      request.socket.destroy();
      return;
    }
    if (status < 300) {
      const alert = JSON.parse(Buffer.concat(parts).toString());
      taken.push({ key: request.headers["idempotency-key"] as string, alert });
      heard.emit("taken");
    }
    response.writeHead(status).end();
  };
  const server = createServer(hear).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const keys = () => taken.map(({ key }) => key);
  /** Until it has got them all. */
  const until = async (ids: readonly string[]) => {
    while (!ids.every((id) => keys().includes(id))) await once(heard, "taken");
  };
  return { url: `http://127.0.0.1:${port}/hook`, taken, keys, until, attempts: () => attempts };
}

const snipers = (url: string, outbox: string, more: readonly string[] = [], environment = {}) =>
  run(EXAMPLE, ["--base-url", url, "--pair", PAIR, "--every", "250", "--outbox", outbox, ...more], {
    ...KEY,
    ...environment,
  });

const alertsIn = ({ lines }: Program) =>
  lines.flatMap((line) => {
    const { type, ...rest } = JSON.parse(line);
    return type === "alert" ? [rest as Alert] : [];
  });
const idsIn = (program: Program) => alertsIn(program).map(({ id }) => id);
const stateOf = (file: string) => JSON.parse(readFileSync(file, "utf8")) as OutboxState;
const isOf = (type: string) => (line: string) => line.includes(`"type":"${type}"`);

/** Ends a program as Ctrl-C does; gives its last line. */
async function interrupt(program: Program): Promise<string> {
  program.child.kill("SIGINT");
  expect(await program.ended).toBe(0);
  return program.lines.at(-1)!;
}

/** What `news` brings, in order. */
const NEWS = [
  "new-wallet:pair1:bob:snipe:hash1",
  "sale:pair1:bob:sell:hash3",
  "sold-out:pair1:bob:sell:hash3",
];
const news = ({ swap }: Awaited<ReturnType<typeof market>>) => swap("bob", "sell", 4, 500);

describe("the snipers' program", () => {
  it("sums up, tells what is new, goes on after a restart, and ends with a summary", async () => {
    const [place, folder] = [await market(), await temporaryFolder()];
    const outbox = join(folder, "deep", "outbox.json");
    const first = snipers(place.url, outbox);
    expect(await first.line((line) => line.includes("snipers    "))).toMatch(
      /^\d\d:\d\d:\d\d pair1 snipers {4}1: 1 hold \$180\.00, 0 sold out; sniped for \$100\.00, sold for \$20\.00, made -\$80\.00$/,
    );
    expect(await first.line((line) => line.includes("fastest"))).toMatch(
      /^ +1 in the block of the creation, 0 in profit; fastest sale 2 s after the snipe, by ann$/,
    );
    news(place);
    await first.line((line) => line.includes("sold out   bob"));
    expect(await interrupt(first)).toMatch(
      /^Followed for \d+ s: 3 alerts told, 0 wait; [\d,]+ requests, [\d,]+ units$/,
    );
    expect(first.errors()).toBe("");
    const text = first.lines.map((line) => line.replace(/^\d\d:\d\d:\d\d pair1 /, ""));
    expect(text.filter((line) => /^(new wallet|sale|sold out)/.test(line))).toEqual([
      "new wallet bob sniped for $40.00, first in block +0, transaction hash1",
      "sale       bob sold for $500.00, transaction hash3",
      "sold out   bob holds nothing any more, made +$460.00, transaction hash3",
    ]);
    // At first, as it changed, and in the end.
    expect(text.filter((line) => line.startsWith("snipers"))).toHaveLength(3);

    place.swap("ann", "sell", 1, 99);
    place.swap("ann", "sell", 1, 100);
    const again = snipers(place.url, outbox, ["--json", "--alert-usd", "200"]);
    // Both came in one look, in which they are worth less together than is told.
    expect(await again.line(isOf("summary"))).toContain('"soldUsd":719');
    expect(await interrupt(again)).toMatch(
      /^\{"type":"end","seconds":\d+,"told":0,"waiting":0,"requests":\d+,/,
    );
    expect(again.errors()).toMatch(
      /^Following the snipers of pair1\nServed by http:\S+; a day costs 345,600 requests/,
    );
  });

  it("loses no alert and repeats one at most, with the same id, at whichever step it is killed", async () => {
    const place = await market();
    const folder = await temporaryFolder();
    const seen = join(folder, "seen.json");
    const before = snipers(place.url, seen, ["--json"]);
    await before.line(isOf("summary"));
    await interrupt(before);
    const start = readFileSync(seen);
    news(place);

    // A sale that is too small leaves two alerts, which have all the steps.
    const expected = NEWS.filter((id) => !id.startsWith("sale"));
    const last = expected.at(-1)!;
    /** Gives how the program has ended that is killed at a step, if it comes to it, and begins anew. */
    const endingAt = async (step: number) => {
      const outbox = join(folder, `outbox-${step}.json`);
      writeFileSync(outbox, start);
      const { url, taken, keys, until } = await receiver();
      const more = ["--json", "--alert-usd", "501", "--webhook", url];
      const killer = { KILL_AT: `${step}`, NODE_OPTIONS: `--import ${KILLER}` };
      const first = snipers(place.url, outbox, more, killer);
      const isLast = (line: string) => line.includes(last);
      // Where it is killed before it has told all, its end comes first.
      const isTold = Promise.all([first.line(isLast), until(expected)]).catch(() => {});
      await Promise.race([isTold, first.ended]);
      first.child.kill("SIGINT");
      const ending = await first.ended;
      const second = snipers(place.url, outbox, more);
      await second.line(isOf("summary"));
      const told = () => [...idsIn(first), ...idsIn(second)];
      if (!told().includes(last)) await second.line(isLast);
      await until(expected);
      await interrupt(second);
      const message = `killed at step ${step}`;
      for (const got of [told(), keys()]) {
        expect([...new Set(got)], message).toEqual(expected);
        expect(got.length, message).toBeLessThanOrEqual(expected.length + 1);
      }
      expect(taken.map(({ alert }) => alert.id)).toEqual(keys());
      expect(stateOf(outbox)).toMatchObject({ waiting: [], ids: expected });
      return ending;
    };

    const endings: Awaited<ReturnType<typeof endingAt>>[] = [];
    // Some at once, as each of them waits for the next look, and for the webhook.
    while (!endings.includes(0)) {
      const steps = Array.from({ length: AT_ONCE }, (_, at) => endings.length + at + 1);
      endings.push(...(await Promise.all(steps.map(endingAt))));
    }
    const kills = endings.indexOf(0);
    expect(endings.slice(0, kills)).toEqual(Array(kills).fill("SIGKILL"));
    // A look and two alerts: what is written, printed, sent and heard.
    expect(kills).toBeGreaterThan(3 + 2 * (2 * 3 + 3));
  });

  it("posts again what a webhook does not take at first, and says so", async () => {
    const [place, folder] = [await market(), await temporaryFolder()];
    const { url, taken, keys, until, attempts } = await receiver((attempt) => [503, 0][attempt - 1] ?? 202);
    const program = snipers(place.url, join(folder, "outbox.json"), ["--json", "--webhook", url]);
    await program.line(isOf("summary"));
    news(place);
    await until(NEWS);
    expect(await interrupt(program)).toContain('"told":3,"waiting":0,');
    expect(attempts()).toBe(5);
    expect(keys()).toEqual(NEWS);
    expect(taken.map(({ alert }) => alert)).toEqual(alertsIn(program));
    const trouble = program
      .errors()
      .split("\n")
      .filter((line) => line.startsWith("the webhook"));
    expect(trouble).toEqual([
      "the webhook takes nothing: it answered 503; 3 wait, and it is asked again in 1 s",
      expect.stringMatching(/^the webhook takes nothing: \S+; 3 wait, and it is asked again in 2 s$/),
    ]);
  });

  it("tells the terminal what a webhook does not take, ends at once, and posts it the next time", async () => {
    const [place, folder] = [await market(), await temporaryFolder()];
    const outbox = join(folder, "outbox.json");
    const broken = await receiver(() => 500);
    const first = snipers(place.url, outbox, ["--json", "--webhook", broken.url]);
    await first.line(isOf("summary"));
    news(place);
    await first.line((line) => line.includes(NEWS.at(-1)!));
    expect(await interrupt(first)).toContain('"told":3,"waiting":3,');
    expect(idsIn(first)).toEqual(NEWS);
    const { url, keys, until } = await receiver();
    const second = snipers(place.url, outbox, ["--json", "--webhook", url]);
    await until(NEWS);
    expect(await interrupt(second)).toContain('"told":0,"waiting":0,');
    expect(keys()).toEqual(NEWS);
    expect(second.errors()).toContain("until they are told: 3 of the last time");
  });

  it("follows several pairs, the others where one ends, and waits for a young one if it is told to", async () => {
    const [place, folder] = [await market(), await temporaryFolder()];
    const outbox = join(folder, "outbox.json");
    const more = ["--pair", PAIR, "young", "gone", "--wait", "--blocks", "0", "--json"];
    const program = snipers(place.url, outbox, more);
    await program.line(isOf("summary"));
    place.pairs.add("young");
    await program.line((line) => isOf("summary")(line) && line.includes('"young"'));
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(1);
    expect(program.errors()).toContain("gone is not followed any more: ");
    expect(Object.keys(stateOf(outbox).looks).sort()).toEqual(["pair1 0", "young 0"]);
  });

  it("follows a simulated market without options, and ends by itself", async () => {
    const outbox = join(await temporaryFolder(), "outbox.json");
    const program = run(EXAMPLE, ["--for", "1", "--outbox", outbox]);
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
    expect(program.lines[0]).toMatch(/^Following the snipers of \S+, \S+, \S+$/);
    expect(program.lines.slice(1, 4)).toEqual([
      "Served by a simulated market",
      `Alerts wait in ${outbox} until they are told`,
      "Ctrl-C stops",
    ]);
    expect(program.lines.at(-1)).toMatch(/^Followed for \d+ s: /);
    expect(Object.keys(stateOf(outbox).looks)).toHaveLength(3);
  });

  it("refuses what it cannot take", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "outbox.json");
    await expectRefusal(run(EXAMPLE, ["--pair", PAIR]), /--pair needs --base-url/);
    await expectRefusal(run(EXAMPLE, ["--base-url", "http://127.0.0.1:1", "--pair", PAIR]), /needs a key/);
    await expectRefusal(run(EXAMPLE, ["--base-url", "http://127.0.0.1:1"], KEY), /needs --pair/);
    await expectRefusal(run(EXAMPLE, ["--webhook", "ftp://host"]), /begins with https: or http:/);
    await expectRefusal(run(EXAMPLE, ["--outbox", file, "--every", "10"]), /every/);
    for (const text of [
      "",
      "[]",
      '{"looks":{},"waiting":[{}],"told":[]}',
      '{"looks":{},"waiting":[],"told":[1]}',
    ]) {
      writeFileSync(file, text);
      const program = run(EXAMPLE, ["--outbox", file]);
      expect(await program.ended).toBe(1);
      expect(program.errors()).toBe(
        `error: ${file} is no outbox of this program; look at it before you delete it\n`,
      );
    }
  });
});
