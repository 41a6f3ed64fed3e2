import type { Plugin } from "esbuild";
import type { IChartApi } from "lightweight-charts";
import type { Browser, Page } from "playwright-core";
import { compile } from "svelte/compiler";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { compileScript, parse } from "vue/compiler-sfc";
import { bundle, openPage, REACTS } from "../../bench/react/pages.js";
import { type Block, markdownBlocks } from "../documents/blocks.js";
import { read } from "../documents/files.js";
import { findChromium } from "./chromium.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";

/** The first block of a document in a language that has all of some words. */
function blockOf(document: string, language: string, word: string): string {
  const isMeant = (block: Block) => block.language === language && block.code.includes(word);
  return markdownBlocks(document, read(document)).find(isMeant)!.code;
}

const react = blockOf("docs/react.md", "tsx", "function Page");
const vue = blockOf("docs/frameworks.md", "vue", "setup");
const svelte = blockOf("docs/frameworks.md", "svelte", "$effect");
const angular = blockOf("docs/frameworks.md", "ts", "@angular/core");
const plain = blockOf("docs/frameworks.md", "ts", "fromEvent");
const native = blockOf("docs/frameworks.md", "ts", "Observable.from(");
const fromNative = blockOf("docs/frameworks.md", "ts", "fromNative");

/** A module of this text, under the name `component`. */
function component(contents: string, loader: "js" | "ts"): Plugin {
  return {
    name: "component",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^component$/ }, ({ path }) => ({ path, namespace: "document" }));
      onLoad({ filter: /.*/, namespace: "document" }, () => ({
        contents,
        loader,
        resolveDir: process.cwd(),
      }));
    },
  };
}

function compiledVue(): string {
  const { descriptor, errors } = parse(vue, { filename: "Candles.vue" });
  expect(errors).toEqual([]);
  return compileScript(descriptor, { id: "candles", inlineTemplate: true }).content;
}

function compiledSvelte(): string {
  const { js, warnings } = compile(svelte, { generate: "client", filename: "Candles.svelte" });
  expect(warnings).toEqual([]);
  return js.code;
}

/** What Vue asks of whoever bundles it. */
const VUE_FLAGS = Object.fromEntries(
  ["OPTIONS_API", "PROD_DEVTOOLS", "PROD_HYDRATION_MISMATCH_DETAILS"].map((name) => [
    `__VUE_${name}__`,
    "false",
  ]),
);
const PLACE = 'document.getElementById("app")!';
const PROGRAMS: Record<string, () => Promise<string>> = {
  ...Object.fromEntries(
    REACTS.map((version) => [
      `React ${version}`,
      () => {
        const main = `import { StrictMode } from "react"; import { createRoot } from "react-dom/client";
          createRoot(${PLACE}).render(<StrictMode><Page /></StrictMode>);`;
        const text = react.replace("const chart =", "const chart = globalThis.shown =");
        return bundle({ text: `${text}\n${main}`, loader: "tsx" }, version);
      },
    ]),
  ),
  Vue: () => {
    const main = `import { createApp } from "vue"; import Candles from "component"; createApp(Candles).mount("#app");`;
    return bundle({ text: main, loader: "ts" }, "19", {
      plugins: [component(compiledVue(), "ts")],
      define: VUE_FLAGS,
    });
  },
  Svelte: () => {
    const main = `import { mount } from "svelte"; import Candles from "component"; mount(Candles, { target: ${PLACE} });`;
    return bundle({ text: main, loader: "ts" }, "19", { plugins: [component(compiledSvelte(), "js")] });
  },
  "no framework": () => bundle({ text: plain, loader: "ts" }),
};

/** The chart of the page, as the program of its test tells. */
declare const shown: IChartApi;

/**
 * Scrolls back, and shows another timeframe and another pair. By the second, as a look that a busy machine fails is made
 * again with the next slot: by the minute that is a minute later.
 */
async function switchReact(
  page: Page,
  shows: (pattern: RegExp) => Promise<void>,
  troubles: readonly string[],
): Promise<void> {
  await shows(/^live, /);
  const options = page.locator("select").first().locator("option");
  const [first, second] = await options.evaluateAll((all) =>
    all.map((one) => (one as HTMLOptionElement).value),
  );
  expect(second).not.toBe(first);
  for (const [place, value] of [
    ["last", "1s"],
    ["first", second!],
  ] as const) {
    const before = await page.evaluate(() => {
      shown.timeScale().scrollToPosition(-100, false);
      return JSON.stringify(shown.panes()[0]!.getSeries()[0]!.data()[0]);
    });
    await page.locator("select")[place]().selectOption(value);
    const isOther = (before: string) => {
      const bars = shown.panes()[0]!.getSeries()[0]!.data();
      const isNewestSeen = shown.timeScale().scrollPosition() > -1;
      return isNewestSeen && bars.length >= 300 && JSON.stringify(bars[0]) !== before;
    };
    await page.waitForFunction(isOther, before, { timeout: 60_000 });
    await shows(/^live, [3-5]\d\d candles/);
  }
  const texts = await page.evaluate(() => {
    const [prices, below] = shown.panes().map((pane) => pane.getSeries()[0]!.priceFormatter());
    return [prices!.format(0.003706), below!.format(55.184707516)];
  });
  expect(texts[0]).toMatch(/^0.0₂3706/);
  expect(texts[1]).toMatch(/^55\.184/);
  expect(troubles).toEqual([]);
}

it("takes few lines", () => {
  const lines = (code: string) => code.split("\n").length;
  expect(lines(react)).toBeLessThanOrEqual(40);
  for (const code of [vue, svelte, angular, plain]) expect(lines(code)).toBeLessThanOrEqual(25);
});

describe.skipIf(executablePath === undefined && !isRequired)("a page of the documents", () => {
  let browser: Browser;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    browser = await connectToChromium();
  });
  afterAll(() => browser?.close());

  it.each(Object.keys(PROGRAMS))("shows candles and switches, with %s", async (name) => {
    const { page, troubles } = await openPage(browser, await PROGRAMS[name]!());
    onTestFinished(() => page.close());
    const shows = async (pattern: RegExp) => {
      const isShown = (source: string) =>
        new RegExp(source).test(document.querySelector("output")?.textContent ?? "");
      try {
        await page.waitForFunction(isShown, pattern.source, { timeout: 60_000 });
      } catch (cause) {
        const shown = await page.locator("output").textContent();
        throw new Error(`Expected ${pattern}, but the page shows: ${shown}; ${troubles.join("; ")}`, {
          cause,
        });
      }
    };
    await shows(/\b3\d\d candles, \d/);
    if (name.startsWith("React")) return switchReact(page, shows, troubles);
    // The market is two to three hours old, and some of its minutes are without a swap: by the minute it has fewer candles
    // than are asked for.
    await page.locator("select").last().selectOption("1min");
    await shows(/\b(?:[6-9]\d|1\d\d) candles, \d/);
    expect(troubles).toEqual([]);
  });

  it("shows closes by an Observable of the browser's own, until its signal aborts", async () => {
    // How many listen to the stream, as its source tells.
    const counted = native.replace(
      "toAsyncIterable(events)",
      `toAsyncIterable(events.pipe(finalize(() => { globalThis.hasLeft = true; })))`,
    );
    const text = `import { finalize } from "rxjs";\n${counted}`;
    const { page, troubles } = await openPage(browser, await bundle({ text, loader: "ts" }));
    onTestFinished(() => page.close());
    await page.waitForFunction(() => /^\d+\.\d/.test(document.querySelector("output")?.textContent ?? ""));
    expect(await page.evaluate("globalThis.hasLeft")).toBeUndefined();
    await page.locator("output").click();
    await page.waitForFunction("globalThis.hasLeft === true");
    expect(troubles).toEqual([]);
  });

  it("says what RxJS 7 does not take from it, and how it does", async () => {
    const text = `import { from, isObservable, toArray } from "rxjs";
      ${fromNative}
      const native = globalThis.Observable.from([1, 2, 3]);
      const told = { is: isObservable(native) };
      try { from(native); } catch (error) { told.error = error.name; }
      told.subscribed = native.subscribe(() => {});
      fromNative(native).pipe(toArray()).subscribe((all) => { told.all = all; });
      let left = false;
      const endless = new globalThis.Observable((subscriber) => { subscriber.addTeardown(() => { left = true; }); });
      fromNative(endless).subscribe().unsubscribe();
      globalThis.told = { ...told, left };`;
    const program = await bundle({ text: text.replace("const told =", "const told: any ="), loader: "ts" });
    const { page, troubles } = await openPage(browser, program);
    onTestFinished(() => page.close());
    expect(await page.evaluate("globalThis.told")).toEqual({
      is: false,
      error: "TypeError",
      subscribed: undefined,
      all: [1, 2, 3],
      left: true,
    });
    expect(troubles).toEqual([]);
  });
});
