import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type * as index from "../../src/index.js";
import type * as sessions from "./sessions.js";
import { drawing } from "./sessions.js";

/** Here a turn that ends too late is seen: another number of closes, another number of exchanges. */
const SEED = 5;

/** What a platform may have; what is not named is missing. */
interface Names {
  setImmediate?: unknown;
  MessageChannel?: unknown;
  setTimeout?: unknown;
  nextTick?: unknown;
}

const NOTHING = { setImmediate: undefined, MessageChannel: undefined, setTimeout: undefined };
const real: Names = { setImmediate, MessageChannel, setTimeout, nextTick: process.nextTick };
const { MessageChannel: channel, setTimeout: timeout } = real;
const { setImmediate: turn, nextTick: tick } = real;
const never = () => 0;
const asMicrotask = (work: () => void) => void Promise.resolve().then(work);
const afterSomeMicrotasks = async (work: () => void) => {
  for (let link = 0; link < 10; link += 1) await undefined;
  work();
};
const atOnce = (work: () => void) => work();
const refusing = () => {
  throw new Error("Disallowed operation called within global scope");
};
/** As those of @sinonjs/fake-timers, which vitest and jest use, and of jest before it. */
const marked = () => Object.assign(() => 0, { clock: {} });
const mocked = () => Object.assign(() => undefined, { _isMockFunction: true });

/** As a busy machine's, on which one wait may end before another that began earlier. */
function inAnyOrder() {
  const random = drawing(SEED);
  const after = (turns: number, work: () => void): unknown =>
    setImmediate(turns > 0 ? () => after(turns - 1, work) : work);
  return (work: () => void) => after(Math.floor(4 * random()), work);
}

const code = buildSync({
  stdin: {
    contents: 'export * from "./sessions.js"; export * from "../../src/index.js";',
    resolveDir: fileURLToPath(new URL(".", import.meta.url)),
  },
  bundle: true,
  write: false,
  format: "iife",
  globalName: "project",
  platform: "browser",
  external: ["hono", "@hono/node-server"],
  target: "es2022",
  define: { globalThis: "thePlatform" },
}).outputFiles[0]!.text;

// Read once, they are the platform's own: before that, Node takes them from whatever inherits them and is given others, as
// by the polyfill in the bundle.
for (const name of ["fetch", "Headers", "Request", "Response"]) Reflect.get(globalThis, name);

/** A platform on which turns pass by these alone; `use` puts others in their place. */
function platformOf(names: Names) {
  const platform = Object.create(globalThis);
  // Defined, as Node sets its own `process` where an object that inherits it is given another.
  const use = ({ nextTick, ...names }: Names) => {
    const all = { ...NOTHING, ...names, process: { nextTick } };
    for (const [name, value] of Object.entries(all)) {
      Object.defineProperty(platform, name, { value, configurable: true });
    }
  };
  use(names);
  return { platform, use };
}

/** The project, loaded anew on a platform. */
function load(platform: object): typeof sessions & typeof index {
  return new Function("thePlatform", `${code}; return project;`)(platform);
}

/** A session in trouble that is recorded and replayed, in full; everything passes in virtual time. */
async function run({ busySession, live, replay, troubledService }: ReturnType<typeof load>) {
  const session = busySession(SEED);
  const recorded = await live(session, (clock) => troubledService(SEED, clock));
  const { seen, pending } = await replay(session, recorded.lines);
  expect(seen).toEqual(recorded.seen);
  return { tape: recorded.lines, seen, pending };
}

describe("virtual time and replay", () => {
  let usual: Awaited<ReturnType<typeof run>>;

  beforeAll(async () => {
    usual = await run(load(globalThis));
    expect(usual.seen.filter((line) => line.includes('"closed"')).length).toBe(41);
    expect([usual.tape.length, usual.pending]).toEqual([68, 0]);
  });

  it.each<[string, Names]>([
    ["MessageChannel alone, as in a page", { MessageChannel: channel }],
    ["setTimeout alone, as in jsdom", { setTimeout: timeout }],
    [
      "a setImmediate that is a microtask, as in React Native",
      { setImmediate: asMicrotask, setTimeout: timeout },
    ],
    ["one of several microtasks", { setImmediate: afterSomeMicrotasks, MessageChannel: channel }],
    ["a nextTick that is a microtask, as in workerd", { nextTick: asMicrotask, MessageChannel: channel }],
    [
      "everything a microtask but setTimeout",
      { ...all(asMicrotask), MessageChannel: undefined, setTimeout: timeout },
    ],
    ["a setImmediate that calls at once", { setImmediate: atOnce, MessageChannel: channel }],
    ["fakes that are marked", { ...all(marked()), MessageChannel: channel }],
    ["fakes that are mocks", { ...all(mocked()), MessageChannel: channel }],
    ["fakes without a mark, as of node:test", { ...all(never), MessageChannel: channel }],
    [
      "fakes without a mark, and setTimeout alone",
      { ...all(never), MessageChannel: undefined, setTimeout: timeout },
    ],
    ["what may not be used", { ...all(refusing), MessageChannel: channel }],
    ["a nextTick that never comes", { ...real, nextTick: never }],
    ["no nextTick", { ...real, nextTick: undefined }],
    ["waits that end in any order", { setTimeout: inAnyOrder() }],
  ])("are the same with %s", async (_, names) => {
    const { platform, use } = platformOf(real);
    const loaded = load(platform);
    use(names);
    expect(await run(loaded)).toEqual(usual);
  });

  it.each<[string, Names]>([
    ["MessageChannel", { MessageChannel: channel }],
    ["setTimeout", { setTimeout: timeout }],
    ["setImmediate", { setImmediate: turn }],
    ["setImmediate and nextTick", { setImmediate: turn, nextTick: tick }],
  ])("are the same where %s was there from the first", async (_, names) => {
    expect(await run(load(platformOf(names).platform))).toEqual(usual);
  });

  it("are the same under fake timers that begin before the import, after it, and later", async () => {
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers();
    expect(await run(load(globalThis))).toEqual(usual);
    vi.useRealTimers();

    const loaded = load(globalThis);
    vi.useFakeTimers();
    expect(await run(loaded)).toEqual(usual);
    vi.useRealTimers();
    expect(await run(loaded)).toEqual(usual);
    vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate", "queueMicrotask"] });
    expect(await run(loaded)).toEqual(usual);
  });

  it("are the same under fake timers where only timers pass turns, once these are imported", async () => {
    const { platform, use } = platformOf({ setTimeout: timeout });
    const loaded = load(platform);
    use({ setTimeout: marked() });
    expect(await run(loaded)).toEqual(usual);
  });

  it("are the same for several clocks that begin at once", async () => {
    const { platform, use } = platformOf(real);
    const loaded = load(platform);
    use({ setImmediate: never, MessageChannel: channel, setTimeout: timeout });
    expect(await Promise.all([run(loaded), run(loaded)])).toEqual([usual, usual]);
  });
});

describe("where no turn of the event loop passes", () => {
  it.each<[string, Names, string]>([
    ["nothing is there", {}, "setImmediate is missing, MessageChannel is missing, setTimeout is missing"],
    ["all are microtasks", { setImmediate: asMicrotask, setTimeout: atOnce }, "setImmediate does not wait"],
    ["all are faked", { setImmediate: marked(), setTimeout: mocked() }, "setImmediate is faked"],
    ["none may be used", { setTimeout: refusing }, "setTimeout does not wait"],
  ])("as %s, a clock says so, and how to leave one real", async (_, names, state) => {
    const { VirtualClock, PairstreamError } = load(platformOf(names).platform);
    const advance = new VirtualClock().advanceBy(1);
    await expect(advance).rejects.toThrow(PairstreamError);
    await expect(advance).rejects.toThrow(state);
    await expect(advance).rejects.toThrow(
      "Leave setImmediate or setTimeout real where you fake timers: see doNotFake in jest",
    );
  });

  it("tries again at the next call, as timers may be real by then", async () => {
    const { platform, use } = platformOf({ setTimeout: marked() });
    const { VirtualClock } = load(platform);
    const clock = new VirtualClock();
    await expect(clock.advanceBy(1)).rejects.toThrow("setTimeout is faked");
    use({ setTimeout: timeout });
    await clock.advanceBy(5);
    expect(clock.now()).toBe(5);
  });

  it.each<[string, Names]>([
    ["nothing is there", {}],
    ["nothing may be used", all(refusing)],
  ])("as %s, a client that is recorded fails, instead of standing still", async (_, names) => {
    const { createClient, recordExchanges } = load(platformOf(names).platform);
    const lines: string[] = [];
    const fetch = recordExchanges(
      async () => answer,
      (line) => lines.push(line),
    );
    const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch });
    const ask = () => client.sniperReport({ pairAddress: "pair" });
    await expect(ask().then(ask)).rejects.toThrow("The clock cannot wait for the event loop");
  });
});

const answer = { status: 200, headers: { get: () => null }, text: async () => '{"result":[]}' };

/** The timers and `nextTick` of a platform on which they are this. */
function all(later: unknown): Names {
  return { setImmediate: later, setTimeout: later, nextTick: later };
}
