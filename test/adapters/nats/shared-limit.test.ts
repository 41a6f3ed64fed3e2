import type { SchedulerLike } from "rxjs";
import { describe, expect, it } from "vitest";
import { SharedLimit } from "../../../src/adapters/nats/shared-limit.js";
import { type Call, coreOf, type Priority } from "../../../src/client/core.js";
import type { ClientOptions } from "../../../src/index.js";
import { answered, at, World } from "../../world.js";

const LIMIT = { requests: 10, per: 1_000 };
const share = (parts: number) => Math.floor((LIMIT.requests * parts) / 5);
const START = at("12:00:00");
const FOREVER = at("23:00:00");

/** A world whose client is used through a share of its limit: two requests a second for each part. */
function shared(client: Partial<ClientOptions> = {}) {
  const world = new World({ start: START, latency: 10, client: { rateLimit: LIMIT, ...client } });
  world.interfere = () => answered(200, "fine");
  const limit = new SharedLimit(world.client, { share, per: LIMIT.per });
  const ask = (route: string, more: Partial<Call<string>> = {}) =>
    coreOf(limit.client).send({ route, priority: "refresh", parse: (text) => text, ...more });
  /** When each request went out, in ms from the start. */
  const sent = () => world.asked.map(({ sent }) => sent - START);
  return { world, limit, ask, sent };
}

/** One whose clock can be set back, by so many ms. */
function limitWithClock() {
  let offset = 0;
  const world = new World({
    start: START,
    schedulerOf: (clock) => {
      const schedule: SchedulerLike["schedule"] = (work, delay, state) =>
        clock.schedule(work as Parameters<typeof clock.schedule>[0], delay, state);
      return { now: () => clock.now() + offset, schedule };
    },
  });
  world.interfere = () => answered(200, "fine");
  const limit = new SharedLimit(world.client, { share, per: LIMIT.per });
  const setBack = (ms: number) => {
    offset -= ms;
  };
  return { world, limit, setBack };
}

const routesOf = (world: World) => world.asked.map(({ url }) => url.pathname);
const outcomeOf = (asking: Promise<unknown>) =>
  asking.then(
    () => "answered",
    (error: unknown) => error,
  );

describe("a share of a client's rate limit", () => {
  it("lets nothing out before there is a part that counts, and leave to act", async () => {
    const { world, limit, ask, sent } = shared();
    const answer = ask("/a");
    await world.clock.advanceBy(1_000);
    limit.actUntil(FOREVER);
    await world.clock.advanceBy(1_000);
    expect(sent()).toEqual([]);
    limit.hold([START + 2_700]);
    await world.clock.advanceBy(1_000);
    expect(sent()).toEqual([2_700]);
    expect((await answer).value).toBe("fine");
  });

  it("spreads many calls so that no window sees more than the share", async () => {
    const { world, limit, ask, sent } = shared();
    limit.actUntil(FOREVER);
    limit.hold([START, START, START]);
    const answers = Array.from({ length: 15 }, (_, number) => ask(`/${number}`));
    await world.clock.advanceBy(5_000);
    await Promise.all(answers);
    expect(sent()).toEqual([0, 0, 0, 0, 0, 0, 1_020, 1_020, 1_020, 1_020, 1_020, 1_020, 2_040, 2_040, 2_040]);
  });

  it("takes back what a part was worth as soon as it is gone", async () => {
    const { world, limit, ask, sent } = shared();
    limit.actUntil(FOREVER);
    limit.hold([START, START, START]);
    for (let number = 0; number < 10; number++) void ask(`/${number}`);
    await world.clock.advanceBy(500);
    limit.hold([START]);
    await world.clock.advanceBy(2_000);
    expect(sent()).toEqual([0, 0, 0, 0, 0, 0, 1_020, 1_020, 2_040, 2_040]);
  });

  it("takes back turns that are not used yet, too, the last ones first", async () => {
    const { world, limit, ask, sent } = shared();
    world.interfere = () =>
      world.asked.length === 1 ? answered(429, "", { "retry-after": "2" }) : answered(200, "fine");
    limit.actUntil(FOREVER);
    limit.hold([START, START, START]);
    void ask("/limited");
    await world.clock.advanceBy(100);
    // These have their turns here, and wait in the client until the pause of 2 s is over.
    for (let number = 0; number < 5; number++) void ask(`/${number}`);
    await world.clock.advanceBy(900);
    limit.hold([START]);
    await world.clock.advanceBy(1_900);
    expect(routesOf(world)).toEqual(["/limited", "/0", "/1"]);
    await world.clock.advanceBy(5_000);
    expect(sent()).toHaveLength(7);
    const busiest = Math.max(
      ...sent().map((from) => sent().filter((at) => from <= at && at < from + 1_000).length),
    );
    expect(busiest).toBe(2);
  });

  it("serves by priority, then by who came first", async () => {
    const { world, limit, ask } = shared();
    const order: [string, Priority][] = [
      ["/history", "history"],
      ["/refresh", "refresh"],
      ["/close-a", "close"],
      ["/close-b", "close"],
    ];
    for (const [route, priority] of order) void ask(route, { priority });
    limit.actUntil(FOREVER);
    limit.hold([START]);
    await world.clock.advanceBy(3_000);
    expect(routesOf(world)).toEqual(["/close-a", "/close-b", "/refresh", "/history"]);
  });

  it("needs a turn for every attempt, and waits between them as the client does", async () => {
    const fail = () => answered(503, { message: "down" });
    const plain = new World({ start: START, latency: 10 });
    plain.interfere = fail;
    const error = outcomeOf(
      coreOf(plain.client).send({ route: "/a", priority: "refresh", parse: (text) => text }),
    );
    await plain.clock.advanceBy(10_000);

    const { world, limit, ask, sent } = shared();
    world.interfere = fail;
    limit.actUntil(FOREVER);
    limit.hold([START]);
    const asking = outcomeOf(ask("/a"));
    await world.clock.advanceBy(10_000);
    expect(sent()).toEqual(plain.asked.map(({ sent: at }) => at - START));
    expect(sent()).toHaveLength(3);
    expect(await asking).toMatchObject({
      name: "HttpError",
      status: 503,
      message: ((await error) as Error).message,
    });
  });

  it("lets no retry past the share", async () => {
    const { world, limit, ask, sent } = shared({ retry: { attempts: 5, baseDelay: 10, maxDelay: 10 } });
    world.interfere = () => answered(500, "");
    limit.actUntil(FOREVER);
    limit.hold([START]);
    const asking = ["/a", "/b"].map((route) => outcomeOf(ask(route)));
    await world.clock.advanceBy(6_000);
    expect(await Promise.all(asking)).toEqual([
      expect.objectContaining({ status: 500 }),
      expect.objectContaining({ status: 500 }),
    ]);
    expect(sent()).toEqual([0, 0, 1_020, 1_020, 2_040, 2_040, 3_060, 3_060, 4_080, 4_080]);
  });

  it("heeds how long the service asks to wait", async () => {
    const { world, limit, ask, sent } = shared();
    world.interfere = () =>
      world.asked.length === 1 ? answered(503, "", { "retry-after": "4" }) : answered(200, "fine");
    limit.actUntil(FOREVER);
    limit.hold([START]);
    const asking = ask("/a");
    await world.clock.advanceBy(10_000);
    expect((await asking).value).toBe("fine");
    expect(sent()[1]).toBe(4_020);
  });

  it("lets nothing out once the time to act is over, not even what has its turn, until it is renewed", async () => {
    const { world, limit, ask, sent } = shared();
    world.interfere = () =>
      world.asked.length === 1 ? answered(429, "", { "retry-after": "2" }) : answered(200, "fine");
    limit.actUntil(START + 1_500);
    limit.hold([START, START]);
    const first = ask("/limited");
    await world.clock.advanceBy(100);
    // It has its turn here, and waits in the client until the pause of 2 s is over.
    const second = ask("/waiting");
    await world.clock.advanceBy(4_900);
    expect(sent()).toEqual([0]);
    limit.actUntil(FOREVER);
    await world.clock.advanceBy(1_000);
    expect(sent()).toEqual([0, 5_000, 5_000]);
    await Promise.all([first, second]);
  });

  it("stops where the clock is set back, until it is renewed", async () => {
    const { limit, setBack } = limitWithClock();
    limit.actUntil(START + 10_000);
    limit.hold([START]);
    expect(limit.mayAct()).toBe(true);
    setBack(3_600_000);
    expect(limit.mayAct()).toBe(false);
    limit.actUntil(START - 3_600_000 + 10_000);
    expect(limit.mayAct()).toBe(true);
  });

  it("counts its parts from the same moment on where the clock is set back, and they are held anew", async () => {
    const { world, limit, setBack } = limitWithClock();
    const part = limit.now() + 1_000;
    limit.hold([part]);
    setBack(3_600_000);
    limit.hold([part]);
    limit.actUntil(START - 3_600_000 + 60_000);
    void coreOf(limit.client).send({ route: "/a", priority: "refresh", parse: (text) => text });
    await world.clock.advanceBy(900);
    expect(world.asked).toHaveLength(0);
    await world.clock.advanceBy(200);
    expect(world.asked).toHaveLength(1);
  });

  it("leaves a call whose caller leaves, wherever it is", async () => {
    const { world, limit, ask, sent } = shared();
    const reasons = [new Error("waiting"), new Error("under way"), new Error("between attempts")];
    const aborts = reasons.map(() => new AbortController());
    const waiting = outcomeOf(ask("/waiting", { signal: aborts[0]!.signal }));
    aborts[0]!.abort(reasons[0]);
    limit.actUntil(FOREVER);
    limit.hold([START]);
    expect(await waiting).toBe(reasons[0]);
    const underWay = outcomeOf(ask("/under-way", { signal: aborts[1]!.signal }));
    await world.clock.advanceBy(5);
    aborts[1]!.abort(reasons[1]);
    expect(await underWay).toBe(reasons[1]);
    world.interfere = () => answered(500, "");
    const between = outcomeOf(ask("/between", { signal: aborts[2]!.signal }));
    await world.clock.advanceBy(100);
    aborts[2]!.abort(reasons[2]);
    expect(await between).toBe(reasons[2]);
    await world.clock.advanceBy(10_000);
    expect(sent()).toEqual([0, 5]);
    expect(await outcomeOf(ask("/late", { signal: AbortSignal.abort(reasons[0]) }))).toBe(reasons[0]);
  });

  it("answers two calls with the same route, each with a place of its own", async () => {
    const { world, limit, ask, sent } = shared();
    limit.actUntil(FOREVER);
    limit.hold([START]);
    const answers = [ask("/same"), ask("/same")];
    await world.clock.advanceBy(100);
    await Promise.all(answers);
    expect(sent()).toEqual([0, 0]);
  });

  it("counts what goes out past it", async () => {
    const { world, limit, ask, sent } = shared();
    limit.actUntil(FOREVER);
    limit.hold([START]);
    const direct = coreOf(world.client).send({
      route: "/direct",
      priority: "refresh",
      parse: (text) => text,
    });
    void ask("/a");
    void ask("/b");
    await world.clock.advanceBy(1_500);
    await direct;
    expect(sent()).toEqual([0, 0, 1_020]);
  });

  it("leaves no timer behind", async () => {
    const { world, limit, ask } = shared();
    const abort = new AbortController();
    limit.actUntil(START + 100);
    limit.hold([START + 5_000]);
    const asking = outcomeOf(ask("/a", { signal: abort.signal }));
    abort.abort();
    await asking;
    limit.close();
    expect(world.clock.pending).toBe(0);
  });
});
