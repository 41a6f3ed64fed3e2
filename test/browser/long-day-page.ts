// The live page over a market whose clock goes as fast as it is told.
import { clientSource, createClient, VirtualClock } from "pairstream";
import { demoService } from "pairstream/service";
import { CURRENCIES, TIMEFRAMES } from "../../examples/live-chart/choices.js";
import { startPage } from "../../examples/live-chart/page/live-page.js";

const START = Date.UTC(2026, 0, 5, 8, 0, 5);
const clock = new VirtualClock(START);
const { pairs, clientOptions } = demoService({ clock: () => clock.now(), createdAt: START - 7_200_000 });
startPage(clientSource(createClient({ ...clientOptions, scheduler: clock })), {
  network: "mainnet",
  pairs,
  timeframes: TIMEFRAMES,
  currencies: CURRENCIES,
  first: { pairAddress: pairs[0], timeframe: "10s", currency: "usd" },
  watch: { since: { candles: 300 }, every: 10_000 },
  snipers: { every: 60_000 },
});

declare global {
  interface Window {
    /** Lets so many ms pass, and gives the most drawings that a frame of the browser had meanwhile. */
    pass(ms: number): Promise<number>;
  }
}

/** Of six polls, for which one drawing is enough, as each takes long. */
const STEP = 60_000;
window.pass = async (ms) => {
  let most = 0;
  let isOver = false;
  let before: number | undefined;
  // It is asked for in the frame before, so ahead of what draws in its own.
  const look = () => {
    const { frames } = window.__pairstream;
    most = Math.max(most, frames - (before ?? frames));
    before = frames;
    if (!isOver) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  for (let left = ms; left > 0; left -= STEP) {
    await clock.advanceBy(Math.min(STEP, left));
    await new Promise(requestAnimationFrame);
  }
  isOver = true;
  return most;
};
