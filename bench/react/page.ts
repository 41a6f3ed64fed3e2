// Components with a hook of their own, of `useEffect`, beside ours: what each costs in requests, subscriptions, renders.
// biome-ignore-all lint/correctness/noComponentHookFactories: each world has components of its own.
import type { CandleEvent, PairSource, Series, WatchOptions } from "pairstream";
import { useCandles } from "pairstream/react";
import { createElement, StrictMode, useEffect, useState, version } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { NEVER, of } from "rxjs";
import type { CaseName, Figures, HookName } from "./figures.js";
import { PageWorld, setHidden, settle, until } from "./world.js";

type Hook = (source: PairSource, options: Series & WatchOptions) => readonly CandleEvent[];

/** A situation in which components show candles. */
interface Situation {
  readonly components?: number;
  readonly history?: number;
  readonly isStrict?: boolean;
  /** Whether the parent writes the options out anew in each render, and renders every 100 ms. */
  readonly isInline?: boolean;
  readonly isHidden?: boolean;
}

const SITUATIONS: Record<CaseName, Situation> = {
  "one component": {},
  StrictMode: { isStrict: true },
  "inline options, a parent that renders every 100 ms": { isInline: true },
  "50 components": { components: 50 },
  "50 components, inline options, such a parent": { components: 50, isInline: true },
  "hidden tab": { isHidden: true },
  "a history of 1,000 candles": { history: 1_000 },
};

/** As one would write it at first. */
const useNaively: Hook = (source, options) => {
  const [events, setEvents] = useState<readonly CandleEvent[]>([]);
  useEffect(() => {
    const following = source.candles(options).subscribe((event) => setEvents((known) => [...known, event]));
    return () => following.unsubscribe();
  }, [source, options]);
  return events;
};
const HOOKS: Record<HookName, Hook> = {
  useEffect: useNaively,
  useCandles: (source, options) => useCandles(source, options).events,
};

const STEP = 100;
const DURATION = 5_000;

async function run(name: CaseName, hook: HookName): Promise<Figures> {
  const { components = 1, history = 100, isStrict, isInline, isHidden } = SITUATIONS[name];
  const world = new PageWorld();
  const useEvents = HOOKS[hook];
  let [renders, drawings, candles] = [0, 0, 0];
  const options = world.seconds(history);
  function Chart({ index, asked }: { index: number; asked: Series & WatchOptions }) {
    const events = useEvents(world.source, asked);
    renders += 1;
    useEffect(() => {
      if (index === 0 && events.length > 0) drawings += 1;
    }, [index, events]);
    if (index === 0) candles = new Set(events.map(({ candle }) => candle.timestamp)).size;
    return events.at(-1)?.candle.close ?? "";
  }
  const Page = () =>
    Array.from({ length: components }, (_, index) =>
      createElement(Chart, { key: index, index, asked: isInline ? world.seconds(history) : options }),
    );
  const root = createRoot(document.createElement("div"));
  const render = () =>
    root.render(isStrict ? createElement(StrictMode, null, createElement(Page)) : createElement(Page));
  render();
  await settle();
  if (isHidden) await until(() => candles >= history);
  setHidden(isHidden === true);
  for (let passed = 0; passed < DURATION; passed += STEP) {
    await world.clock.advanceBy(STEP);
    if (isInline) render();
    await settle();
  }
  const { requests, subscriptions } = world;
  const figures = { requests, subscriptions, renders, drawings, candles };
  setHidden(false);
  root.unmount();
  await until(() => hook === "useEffect" || world.open === 0);
  await settle();
  return { ...figures, left: world.open + world.clock.pending };
}

const idle: PairSource = {
  candles: () => NEVER,
  snipers: () => NEVER,
  sniperReport: () => NEVER,
  status: () => of({ state: "starting", failures: 0 }),
  history: async () => [],
};

/** Mounts and unmounts a component so often, each with options of its own, and waits until nothing of it can be left. */
async function mount(times: number): Promise<void> {
  const world = new PageWorld();
  function Chart({ candles }: { candles: number }) {
    return useCandles(idle, world.seconds(candles)).events.length;
  }
  for (let index = 0; index < times; index += 1) {
    const root = createRoot(document.createElement("div"));
    flushSync(() => root.render(createElement(Chart, { candles: index + 1 })));
    if (index % 50 === 49) await settle();
    root.unmount();
  }
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await settle();
}

const bench = { version, run, mount };
declare global {
  interface Window {
    bench: typeof bench;
  }
}
window.bench = bench;
