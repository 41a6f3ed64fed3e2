// What a page with the hooks goes through; what comes of it is held to what is expected by react.test.ts.
// biome-ignore-all lint/correctness/noComponentHookFactories: each world has components of its own.
import {
  type Candle,
  type CandleEvent,
  ema,
  type FeedStatus,
  type InvalidInputError,
  type PairSource,
  pauseWhileHidden,
  type SniperLook,
  type SniperReport,
  withIndicators,
} from "pairstream";
import {
  type CandlesState,
  type SniperReportState,
  useCandles,
  useSniperReport,
  useSnipers,
} from "pairstream/react";
import { Component, createElement, type FunctionComponent, type ReactNode, Suspense, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot, hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { BehaviorSubject, concat, NEVER, of, Subject, throwError } from "rxjs";
import { PageWorld, settle, until } from "../../../bench/react/world.js";

const COUNT = 50;
const values = withIndicators({ fast: ema(9) });

/** A root whose element is given anew, and what its components have said last. */
function mount(element: () => ReactNode) {
  const root = createRoot(document.createElement("div"));
  const render = async () => {
    // At once, however busy the machine is.
    flushSync(() => root.render(element()));
    await settle();
  };
  return { render, unmount: () => root.unmount() };
}

/** Lets time pass, and what follows from it be drawn. */
async function pass(world: PageWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    await world.clock.advanceBy(250);
    await settle();
  }
}

class Boundary extends Component<{ caught: (error: Error) => void; children?: ReactNode }> {
  override state = { hasFailed: false };
  static getDerivedStateFromError() {
    return { hasFailed: true };
  }
  override componentDidCatch(error: Error) {
    this.props.caught(error);
  }
  override render() {
    return this.state.hasFailed ? "failed" : this.props.children;
  }
}

/** Two components with each a pipe, one without, and one that comes late. */
async function sharing() {
  const world = new PageWorld();
  const shown: Record<string, CandlesState<CandleEvent & { values?: { fast?: number | undefined } }>> = {};
  let taken = 0;
  const Plain = ({ name }: { name: string }) => {
    shown[name] = useCandles(world.source, world.seconds(COUNT), { count: COUNT });
    return null;
  };
  const Piped = ({ name, period }: { name: string; period: number }) => {
    shown[name] = useCandles(world.source, world.seconds(COUNT), {
      pipe: (events) => {
        taken += 1;
        return events.pipe(withIndicators({ fast: ema(period) }));
      },
      key: period,
    });
    return null;
  };
  let [period, late]: [number, boolean] = [9, false];
  const { render, unmount } = mount(() => [
    createElement(Plain, { key: 1, name: "plain" }),
    createElement(Plain, { key: 2, name: "same" }),
    createElement(Piped, { key: 3, name: "fast", period }),
    late && createElement(Piped, { key: 4, name: "late", period: 9 }),
    late && createElement(Plain, { key: 5, name: "latePlain" }),
  ]);
  await render();
  await pass(world, 2_000);
  const before = { ...shown };
  for (let index = 0; index < 10; index += 1) await render();
  const isKept = shown.plain === before.plain && shown.fast === before.fast;
  const takenAtFirst = taken;
  late = true;
  await render();
  await pass(world, 2_000);
  const truth = await world.truth(world.seconds(COUNT), COUNT);
  const fast = shown.fast!.events.at(-1)!.values!.fast!;
  const lateFast = shown.late!.events.at(-1)!.values!.fast!;
  period = 3;
  await render();
  await pass(world, 500);
  const result = {
    subscriptions: world.subscriptions - 1,
    isSame: shown.plain === shown.same && shown.plain === shown.latePlain,
    isKept,
    isFrozen: [shown.plain, shown.plain!.events, shown.plain!.status].every(Object.isFrozen),
    shows: isSameUntil(
      truth.at(-1)!.timestamp,
      shown.plain!.events.map(({ candle }) => candle),
      truth,
    ),
    plainHasValues: shown.plain!.events.some((event) => "values" in event),
    state: shown.plain!.status.state,
    takenAtFirst,
    taken,
    lateness: Math.abs(fast - lateFast) / fast,
    hasMoved: shown.fast!.events.at(-1)!.values!.fast !== fast,
    lateTypes: [...new Set(shown.late!.events.slice(0, 10).map(({ type, live }) => `${type} ${live}`))],
  };
  unmount();
  await until(() => world.open === 0);
  return { ...result, pending: world.clock.pending };
}

/** Left and entered again within a second, and left for good. */
async function leaving() {
  const world = new PageWorld();
  const Chart = () => String(useCandles(world.source, world.seconds(COUNT)).events.length);
  let isShown = true;
  const { render } = mount(() => isShown && createElement(Chart));
  await render();
  await pass(world, 1_000);
  const requests = world.requests;
  for (let index = 0; index < 6; index += 1) {
    isShown = !isShown;
    await render();
  }
  const remounted = { subscriptions: world.subscriptions, requests: world.requests - requests };
  isShown = false;
  const left = performance.now();
  await render();
  const isOpenAtFirst = world.open > 0;
  await until(() => world.open === 0);
  const after = Math.round((performance.now() - left) / 100) / 10;
  const asked = world.requests;
  await pass(world, 5_000);
  return { ...remounted, isOpenAtFirst, after, asked: world.requests - asked, pending: world.clock.pending };
}

/** A stream that ends, and how it is begun anew. */
async function failing() {
  const world = new PageWorld();
  world.refuses = 401;
  let state: CandlesState | undefined;
  let other: CandlesState | undefined;
  let [key, hasOther] = [0, false];
  const Chart = ({ trial }: { trial: number }) => {
    state = useCandles(world.source, world.seconds(COUNT), { key: trial });
    return null;
  };
  const Other = () => {
    other = useCandles(world.source, world.seconds(COUNT), { key: 0 });
    return null;
  };
  const { render, unmount } = mount(() => [
    createElement(Chart, { key: 1, trial: key }),
    hasOther && createElement(Other, { key: 2 }),
  ]);
  await render();
  await pass(world, 1_000);
  const { error, status } = state!;
  const failed = {
    error: error?.name,
    status: [status.state, status.lastError?.name],
    open: world.open,
    pending: world.clock.pending,
  };
  world.refuses = undefined;
  await render();
  await pass(world, 1_000);
  const still = state!.error?.name;
  hasOther = true;
  await render();
  await pass(world, 1_000);
  const fresh = { error: other!.error, events: other!.events.length > 0 };
  key = 1;
  await render();
  await pass(world, 1_000);
  const again = { error: state!.error, events: state!.events.length > 0, state: state!.status.state };
  unmount();
  await until(() => world.open === 0);
  return { failed, still, fresh, again };
}

/** Pipes that throw when they are put together, and at an event. */
async function throwing() {
  const world = new PageWorld();
  const shown: Record<string, CandlesState> = {};
  const pipes = {
    plain: undefined,
    broken: () => {
      throw new TypeError("no pipe");
    },
    ending: () => throwError(() => "a text"),
    late: (events: ReturnType<PairSource["candles"]>) => concat(of(), events.pipe(values)),
  };
  type Name = keyof typeof pipes;
  const Chart = ({ name }: { name: Name }) => {
    const pipe = pipes[name];
    shown[name] = useCandles(world.source, world.seconds(COUNT), pipe === undefined ? {} : { pipe });
    return null;
  };
  const { render, unmount } = mount(() =>
    (Object.keys(pipes) as Name[]).map((name) => createElement(Chart, { key: name, name })),
  );
  await render();
  await pass(world, 1_000);
  const result = Object.entries(shown).map(([name, { error, events, status }]) => [
    name,
    error === undefined ? events.length > 0 : `${error}, ${status.state}`,
  ]);
  unmount();
  await until(() => world.open === 0);
  return Object.fromEntries(result);
}

/** Options that are refused, a render that is never committed, and two sources. */
async function rendering() {
  const world = new PageWorld();
  const Wrong: FunctionComponent<{ count?: number; since?: string; more?: object }> = (wrong) => {
    const { count, since, more } = wrong;
    const asked = { ...world.seconds(COUNT), ...(since !== undefined && { since }) };
    return String(
      useCandles(world.source, asked, { ...(count !== undefined && { count }), ...more }).events.length,
    );
  };
  const parameters: string[] = [];
  for (const wrong of [{ since: "yesterday" }, { count: 0 }, { more: { cuont: 1 } }]) {
    const caught: Error[] = [];
    const { render } = mount(() =>
      createElement(Boundary, { caught: (error) => caught.push(error) }, createElement(Wrong, wrong)),
    );
    await render();
    parameters.push(caught.map((error) => `${error.name} ${(error as InvalidInputError).parameter}`).join());
  }
  const forEver = new Promise<void>(() => {});
  const Suspended = () => {
    useCandles(world.source, world.seconds(COUNT));
    throw forEver;
  };
  const suspended = mount(() => createElement(Suspense, { fallback: "wait" }, createElement(Suspended)));
  await suspended.render();
  await pass(world, 1_000);
  const uncommitted = { subscriptions: world.subscriptions, requests: world.requests };
  suspended.unmount();
  const others = [new PageWorld(), new PageWorld()];
  const Chart = ({ source }: { source: PairSource }) =>
    String(useCandles(source, others[0]!.seconds(COUNT)).events.length);
  const both = mount(() => others.map(({ source }, key) => createElement(Chart, { key, source })));
  await both.render();
  const each = others.map(({ subscriptions }) => subscriptions);
  both.unmount();
  await until(() => others.every(({ open }) => open === 0));
  return { parameters, uncommitted, each };
}

/** Rendered on a server, and taken over from there. */
async function serving() {
  const world = new PageWorld();
  const states = new Set<unknown>();
  const Chart = () => {
    const state = useCandles(world.source, world.seconds(COUNT));
    const { report } = useSnipers(world.source, { pairAddress: world.pairs[0]! });
    states.add(state);
    return createElement("p", null, `${state.events.length} ${state.status.state} ${report.result.length}`);
  };
  const html = [renderToString(createElement(Chart)), renderToString(createElement(Chart))];
  const served = {
    html,
    states: states.size,
    subscriptions: world.subscriptions,
    pending: world.clock.pending,
  };
  const place = document.createElement("div");
  place.innerHTML = html[0]!;
  const root = hydrateRoot(place, createElement(Chart));
  await settle();
  await pass(world, 1_000);
  const text = place.textContent;
  root.unmount();
  await until(() => world.open === 0);
  return { ...served, text };
}

/** The snipers of a pair, for two components. */
async function sniping() {
  const world = new PageWorld();
  const pairAddress = world.pairs[0]!;
  const reports: SniperReport[] = [];
  let renders = 0;
  const List = ({ index }: { index: number }) => {
    renders += 1;
    reports[index] = useSnipers(world.source, { pairAddress, every: 1_000 }).report;
    return null;
  };
  const { render, unmount } = mount(() => [0, 1].map((index) => createElement(List, { key: index, index })));
  await render();
  await pass(world, 3_000);
  const open = world.open;
  unmount();
  await until(() => world.open === 0);
  return {
    wallets: reports[0]!.result.length,
    isSame: reports[0] === reports[1],
    isFrozen: Object.isFrozen(reports[0]),
    open,
    renders,
  };
}

/** The looks at the snipers of a pair, for two components: while nothing changes, and when something has. */
async function looking() {
  const world = new PageWorld();
  const pairAddress = world.pairs[0]!;
  const looks = new Subject<SniperLook>();
  // What a poll tells each time, whether there is news or not.
  const statuses = new BehaviorSubject<FeedStatus>({ state: "starting", failures: 0 });
  const source: PairSource = { ...world.source, sniperReport: () => looks, status: () => statuses };
  const states: SniperReportState[] = [];
  let renders = 0;
  const List = ({ index }: { index: number }) => {
    renders += 1;
    states[index] = useSniperReport(source, { pairAddress, every: 1_000 });
    return null;
  };
  const real: { look?: SniperLook } = {};
  const following = world.source.sniperReport({ pairAddress, every: 1_000 }).subscribe((look) => {
    real.look = look;
  });
  const { render, unmount } = mount(() => [0, 1].map((index) => createElement(List, { key: index, index })));
  await render();
  await pass(world, 2_000);
  const first = states[0]!.look === undefined;
  looks.next(real.look!);
  statuses.next({ state: "live", failures: 0, coveredUntil: 1 });
  await settle();
  const before = renders;
  for (let coveredUntil = 2; coveredUntil < 12; coveredUntil += 1) {
    statuses.next({ state: "live", failures: 0, coveredUntil });
    await settle();
  }
  const idle = renders - before;
  looks.next({ ...real.look!, initial: false });
  await settle();
  const result = {
    first,
    wallets: states[0]!.look!.report.result.length,
    isSame: states[0] === states[1],
    isFrozen: [states[0], states[0]!.status].every(Object.isFrozen),
    status: states[0]!.status,
    idle,
    news: renders - before - idle,
  };
  following.unsubscribe();
  unmount();
  await until(() => !looks.observed && world.open === 0);
  return result;
}

/** Whether what is shown is the truth up to an instant: a stream may know of a second that a download does not yet. */
function isSameUntil(instant: number, shown: readonly Candle[], truth: readonly Candle[]): boolean {
  const known = shown.filter(({ timestamp }) => timestamp <= instant);
  return (
    known.length >= truth.length - 1 && JSON.stringify(known) === JSON.stringify(truth.slice(-known.length))
  );
}

/** Switches between pairs as a user does, and shows nothing of the one before. */
async function switching() {
  const world = new PageWorld();
  const wrong: string[] = [];
  let choose: (pair: number) => void = () => {};
  const Chart = () => {
    const [pair, setPair] = useState(0);
    choose = setPair;
    const { events } = useCandles(world.source, world.seconds(COUNT, pair), { pipe: values });
    for (const { series } of events)
      if (series.pairAddress !== world.pairs[pair]) wrong.push(series.pairAddress);
    return String(events.length);
  };
  const { render, unmount } = mount(() => createElement(Chart));
  await render();
  for (const pair of [1, 2, 0, 1, 0]) {
    await pass(world, 500);
    choose(pair);
    await settle();
  }
  await pass(world, 500);
  await until(() => world.open === 2);
  unmount();
  await until(() => world.open === 0);
  return { wrong: wrong.length, pending: world.clock.pending };
}

/** A tab that is left for a while, and seen again. */
async function pausing() {
  const world = new PageWorld();
  const source = pauseWhileHidden(world.source, { after: 1_000, scheduler: world.clock });
  let state: CandlesState | undefined;
  const Chart = () => {
    state = useCandles(source, world.seconds(COUNT));
    return null;
  };
  const look = (hidden: boolean) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const { render, unmount } = mount(() => createElement(Chart));
  await render();
  await pass(world, 1_000);
  look(true);
  await pass(world, 1_500);
  const [asked, open] = [world.requests, world.open];
  await world.clock.advanceBy(60_000);
  const meanwhile = world.requests - asked;
  look(false);
  await pass(world, 1_000);
  const shown = JSON.stringify(state!.events.map(({ candle }) => candle));
  const truth = await world.truth(world.seconds(COUNT + 61), state!.events.length);
  const result = {
    open,
    meanwhile,
    requests: world.requests - asked,
    isWhole: shown === JSON.stringify(truth),
  };
  unmount();
  await until(() => world.open === 0);
  return { ...result, count: state!.events.length, pending: world.clock.pending };
}

/** A source whose stream never says anything costs nothing but a listener. */
async function silence() {
  const idle: PairSource = {
    candles: () => NEVER,
    snipers: () => NEVER,
    sniperReport: () => NEVER,
    status: () => NEVER,
    history: async () => [],
  };
  let renders = 0;
  const Chart = () => {
    renders += 1;
    const series = { network: "mainnet", pairAddress: "pair", timeframe: "1s", currency: "usd" } as const;
    return useCandles(idle, series).status.state;
  };
  const { render, unmount } = mount(() => createElement(Chart));
  await render();
  await settle();
  unmount();
  return { renders };
}

const scenarios = {
  sharing,
  leaving,
  failing,
  throwing,
  rendering,
  serving,
  sniping,
  looking,
  switching,
  pausing,
  silence,
};
declare global {
  interface Window {
    scenarios: typeof scenarios;
  }
}
window.scenarios = scenarios;
