import { find, Subscription } from "rxjs";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { collect, natsSource } from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { createClient, VirtualClock } from "../../../src/index.js";
import { demoService } from "../../../src/service/index.js";
import type { Packet } from "../../simulation/nats/jetstream.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { seriesOf } from "./busy-service.js";

const START = Date.UTC(2026, 0, 1);
/** How long what is stored is on its way, in ms. */
const SLOW = 2_000;

/** A collector that is live, and the source of a program to which what is stored comes slowly. */
async function stage(
  delay = ({ reply }: Packet, _to: string): number => (reply?.startsWith("$JS.ACK.") ? SLOW : 0),
) {
  const clock = new VirtualClock(START);
  const servers = new Servers(clock);
  const wire = { up: (arrive: () => void) => arrive(), down: (arrive: () => void) => arrive() };
  const connect = (number: number) => new ModelConnection(servers, wire, clock, number);
  const { pairs, clientOptions } = demoService({ clock: () => clock.now() });
  const client = createClient({ ...clientOptions, scheduler: clock });
  const series = seriesOf(pairs[0]!);
  const running = new Subscription();
  onTestFinished(() => running.unsubscribe());
  const watch = { ...series, since: { candles: 20 } };
  running.add(collect(connect(0).asConnection, client, [watch]).subscribe());
  await clock.advanceBy(60_000);
  const reader = connect(1);
  const push = reader.push.bind(reader);
  reader.push = (to, packet) => {
    clock.schedule(() => push(to, packet), delay(packet, to));
  };
  return { clock, running, series, reader, source: natsSource(reader.asConnection, { scheduler: clock }) };
}

beforeAll(() => natsLibrary());

it("refuses at the call what no timer and no server can hold", () => {
  const clock = new VirtualClock(START);
  const wire = { up: () => {}, down: () => {} };
  const nats = new ModelConnection(new Servers(clock), wire, clock, 0).asConnection;
  for (const heartbeat of [249, 2 ** 31, 1e12]) {
    const refused = expect.objectContaining({
      parameter: "heartbeat",
      allowed: "a number of ms from 250 to 2147483647",
    });
    expect(() => natsSource(nats, { heartbeat })).toThrow(refused);
  }
  const client = createClient(demoService().clientOptions);
  for (const retention of [999, 1e13]) {
    const refused = expect.objectContaining({
      parameter: "retention",
      allowed: "a number of ms from 1000 to 9000000000000",
    });
    expect(() => collect(nats, client, [], { retention })).toThrow(refused);
  }
});

describe("the history of a source over NATS", () => {
  it("fails after half a minute where the servers have no JetStream", async () => {
    const { clock, series, source, reader } = await stage();
    // What is asked of JetStream has nobody who answers.
    reader.request = () =>
      Promise.reject(Object.assign(new Error("no responders"), { name: "NoResponders" }));
    let failure: unknown;
    const history = source.history({ ...series, count: 3 }).catch((error: unknown) => {
      failure = error;
    });
    await clock.advanceBy(29_000);
    expect(failure).toBeUndefined();
    await clock.advanceBy(3_000);
    await history;
    expect(failure).toMatchObject({
      name: "NetworkError",
      message: "The NATS servers give no history: is JetStream on (nats-server -js)?",
    });
  });
});

describe("the status of a source over NATS", () => {
  it.each([
    ["with a history", { since: { candles: 10 } }, "new"],
    ["without one", {}, "live and covers"],
  ])(
    "covers nothing until the candles with the same options have told what is stored, %s",
    async (_, more, next) => {
      const { clock, running, series, source } = await stage();
      const told: string[] = [];
      const watch = { ...series, ...more };
      running.add(source.candles(watch).subscribe(({ type }) => told.push(type)));
      running.add(
        source.status(watch).subscribe(({ state, coveredUntil }) => {
          told.push(coveredUntil === undefined ? state : `${state} and covers`);
        }),
      );
      const other: string[] = [];
      running.add(source.status({ ...series, since: START }).subscribe(({ state }) => other.push(state)));
      await clock.advanceBy(SLOW - 100);
      expect(told).toEqual(["starting"]);
      expect(other).toContain("live");
      await clock.advanceBy(3_000);
      expect(told.slice(0, 2)).toEqual(["starting", next]);
      expect(told).toContain("live and covers");
    },
  );

  it("never goes back to one that was on its way while a newer one has come", async () => {
    // What was stored comes after what is stored meanwhile: a closing.
    const { clock, running, series, source } = await stage((_, to) => (to.startsWith("_INBOX.") ? 900 : 0));
    const covered: number[] = [];
    running.add(source.status(series).subscribe(({ coveredUntil = 0 }) => covered.push(coveredUntil)));
    await clock.advanceBy(5_000);
    expect(covered.length).toBeGreaterThan(1);
    expect(covered).toEqual([...covered].sort((a, b) => a - b));
    expect(covered.at(-1)).toBeGreaterThanOrEqual(START + 60_000);
  });

  it("needs no candles, and waits for none that are left", async () => {
    const { clock, running, series, source } = await stage();
    const states: string[] = [];
    const candles = source.candles(series).subscribe();
    running.add(source.status(series).subscribe(({ state }) => states.push(state)));
    await clock.advanceBy(SLOW / 2);
    expect(states).toEqual(["starting"]);
    candles.unsubscribe();
    expect(states.slice(0, 2)).toEqual(["starting", "live"]);
  });

  it("covers nothing for candles that somebody follows as soon as another status is live", async () => {
    const { clock, running, series, source } = await stage();
    const [first, second] = [{ ...series, since: { candles: 10 } }, series];
    const states: string[] = [];
    running.add(source.candles(first).subscribe());
    const live = source.status(first).pipe(find(({ state }) => state === "live"));
    running.add(live.subscribe(() => running.add(source.candles(second).subscribe())));
    running.add(
      source.status(second).subscribe(({ state }) => {
        if (states.at(-1) !== state) states.push(state);
      }),
    );
    await clock.advanceBy(2 * SLOW + 100);
    expect(states).toEqual(["starting", "live", "starting"]);
    await clock.advanceBy(2 * SLOW);
    expect(states.at(-1)).toBe("live");
  });
});

it("the status says that the server does not answer, while the collector cannot be asked, and goes on", async () => {
  const { clock, running, series, reader, source } = await stage(() => 0);
  const states: string[] = [];
  running.add(
    source.status(series).subscribe(({ state, lastError }) => states.push(lastError?.message ?? state)),
  );
  await clock.advanceBy(10_000);
  expect(states.at(-1)).toBe("live");
  reader.disconnect();
  await clock.advanceBy(120_000);
  const told = states.slice(states.lastIndexOf("live") + 1);
  // Whether it is the collector or the server shows once the server was asked.
  expect(told).toEqual([
    "The publisher of this feed does not answer",
    "The NATS server model does not answer: timeout",
  ]);
  reader.reconnect();
  await clock.advanceBy(10_000);
  expect(states.at(-1)).toBe("live");
});
