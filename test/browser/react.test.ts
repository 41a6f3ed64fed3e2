import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CASES, type Figures, MOST_BYTES, MOUNTS } from "../../bench/react/figures.js";
import { bundle, heapOf, openPage, REACTS } from "../../bench/react/pages.js";
import { findChromium } from "./chromium.js";
import type {} from "./react/page.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
const LONG = 300_000;

type OpenPage = Awaited<ReturnType<typeof openPage>>;

// Both at once, as they mostly wait for frames; what shares a page goes in order.
describe.skipIf(executablePath === undefined && !isRequired).each(REACTS)(
  "React %s in a real browser",
  { concurrent: true },
  (react) => {
    let browser: Browser;
    // One page for all cases, and one for all scenarios, as each of them has a world of its own.
    let cases: OpenPage;
    let scenarios: OpenPage;

    beforeAll(async () => {
      if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
      const own = new URL("./react/page.ts", import.meta.url).href;
      browser = await connectToChromium();
      cases = await openPage(browser, await bundle("page.ts", react));
      scenarios = await openPage(browser, await bundle(own, react));
    });
    afterAll(() => browser?.close());

    /** What a page has thrown or warned of since this was last asked. */
    const newTroubles = ({ troubles }: OpenPage) => troubles.splice(0);

    /** What comes of a scenario; React warns of nothing, but of what is named. */
    async function outcomeOf<Name extends keyof Window["scenarios"]>(name: Name, warnings = /^$/) {
      const outcome = await scenarios.page.evaluate((name) => window.scenarios[name](), name);
      expect(newTroubles(scenarios).filter((text) => !warnings.test(text))).toEqual([]);
      return outcome as Awaited<ReturnType<Window["scenarios"][Name]>>;
    }

    it.sequential.each(CASES)(
      "costs one subscription, and a render a frame: %s",
      { timeout: LONG },
      async (name) => {
        const figuresOf = (hook: "useCandles" | "useEffect"): Promise<Figures> =>
          cases.page.evaluate(([name, hook]) => window.bench.run(name, hook), [name, hook] as const);
        const plain = await figuresOf("useCandles");
        expect(plain).toMatchObject({ subscriptions: 1, left: 0 });
        const components = /^50/.test(name) ? 50 : 1;
        const drawn = plain.renders / components;
        if (name === "hidden tab") {
          // What came before it was hidden is shown, and nothing after it is drawn.
          expect(plain.candles).toBeLessThan(104);
          expect(drawn).toBeLessThanOrEqual(4);
        } else {
          // The running one at first, and four since.
          expect(plain.candles).toBe(/1,000/.test(name) ? 500 : 104);
          expect(drawn).toBeGreaterThan(5);
        }
        // The running one, with what begins and ends a candle; a parent that renders has nothing drawn anew.
        expect(plain.drawings).toBeLessThanOrEqual(name === "hidden tab" ? 2 : 15);
        // Five polls, with what begins and ends a candle; the parent's fifty renders are its own.
        expect(plain.requests).toBeLessThanOrEqual(15);
        const others = /inline/.test(name) ? 51 : 0;
        expect(drawn - others).toBeLessThanOrEqual(name === "StrictMode" ? 30 : 15);
        if (/inline/.test(name)) {
          const naive = await figuresOf("useEffect");
          expect(naive.subscriptions).toBeGreaterThanOrEqual(50 * components);
          expect(naive.requests).toBeGreaterThan(8 * plain.requests);
        }
        expect(newTroubles(cases)).toEqual([]);
      },
    );

    it.sequential("leaves nothing of a thousand mounts", { timeout: LONG }, async ({ onTestFinished }) => {
      const { page, troubles } = await openPage(
        browser,
        await bundle("page.ts", react, { mode: "production" }),
      );
      onTestFinished(() => page.close());
      await page.evaluate((times) => window.bench.mount(times), MOUNTS);
      const before = await heapOf(page);
      await page.evaluate((times) => window.bench.mount(times), MOUNTS);
      expect(((await heapOf(page)) - before) / MOUNTS).toBeLessThan(MOST_BYTES);
      expect(troubles).toEqual([]);
    });

    it.sequential("shares one subscription among components, each with a pipe of its own", async () => {
      const { lateness, ...outcome } = await outcomeOf("sharing");
      expect(outcome).toEqual({
        subscriptions: 1,
        isSame: true,
        isKept: true,
        isFrozen: true,
        shows: true,
        plainHasValues: false,
        state: "live",
        takenAtFirst: 1,
        // The late component's, and that of another period.
        taken: 3,
        hasMoved: true,
        lateTypes: ["new false"],
        pending: 0,
      });
      expect(lateness).toBeLessThan(1e-9);
    });

    it.sequential("is left a second after the last component has gone", async () => {
      const { after, ...outcome } = await outcomeOf("leaving");
      expect(outcome).toEqual({ subscriptions: 1, requests: 0, isOpenAtFirst: true, asked: 0, pending: 0 });
      expect(after).toBeGreaterThanOrEqual(0.9);
    });

    it.sequential("shows what ended a stream, and begins anew with another key or component", async () => {
      const works = { error: undefined, events: true };
      expect(await outcomeOf("failing", /status 401; check apiKey; the stream ends$/)).toEqual({
        failed: {
          error: "AuthenticationError",
          status: ["stalled", "AuthenticationError"],
          open: 0,
          pending: 0,
        },
        still: "AuthenticationError",
        fresh: works,
        again: { ...works, state: "live" },
      });
    });

    it.sequential("shows what a pipe has thrown, to its component alone", async () => {
      expect(await outcomeOf("throwing")).toEqual({
        plain: true,
        broken: "TypeError: no pipe, stalled",
        ending: "Error: a text, stalled",
        late: true,
      });
    });

    it.sequential("throws for wrong options while rendering, and does nothing until a render is committed", async () => {
      // React tells of what a boundary has caught.
      expect(await outcomeOf("rendering", /error|Error/)).toEqual({
        parameters: ["InvalidInputError since", "InvalidInputError count", "InvalidInputError cuont"],
        uncommitted: { subscriptions: 0, requests: 0 },
        each: [1, 1],
      });
    });

    it.sequential("is empty on a server, always the same, and taken over from there", async () => {
      const { text, ...served } = await outcomeOf("serving");
      const html = "<p>0 starting 0</p>";
      expect(served).toEqual({ html: [html, html], states: 1, subscriptions: 0, pending: 0 });
      expect(text).toMatch(/^50 live \d+$|^51 live \d+$/);
    });

    it.sequential("gives the snipers of a pair", async () => {
      const { wallets, renders, ...outcome } = await outcomeOf("sniping");
      expect(outcome).toEqual({ isSame: true, isFrozen: true, open: 2 });
      expect(wallets).toBeGreaterThan(0);
      expect(renders).toBeLessThan(20);
    });

    it.sequential("gives the looks at the snipers of a pair, and renders only for news", async () => {
      const { wallets, ...outcome } = await outcomeOf("looking");
      const status = { state: "live", failures: 0 };
      expect(outcome).toEqual({ first: true, isSame: true, isFrozen: true, status, idle: 0, news: 2 });
      expect(wallets).toBeGreaterThan(0);
    });

    it.sequential("never shows the events of a pair that has been left", async () => {
      expect(await outcomeOf("switching")).toEqual({ wrong: 0, pending: 0 });
    });

    it.sequential("asks for nothing while the tab is hidden, where it is told to, and misses nothing", async () => {
      const { requests, count, ...outcome } = await outcomeOf("pausing");
      expect(outcome).toEqual({ open: 0, meanwhile: 0, isWhole: true, pending: 0 });
      expect(requests).toBeLessThan(8);
      expect(count).toBeGreaterThan(90);
    });

    it.sequential("renders once where nothing comes", async () => {
      expect(await outcomeOf("silence")).toEqual({ renders: 1 });
    });
  },
);
