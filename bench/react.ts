// What a hook costs in a page, ours beside one of `useEffect`: `npm run bench:react`.
import { findChromium, launchChromium } from "../test/browser/chromium.js";
import { CASES, type Figures, HOOKS, MOUNTS } from "./react/figures.js";
import type {} from "./react/page.js";
import { bundle, heapOf, openPage, REACTS } from "./react/pages.js";

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
const browser = await launchChromium(executablePath);
try {
  for (const react of REACTS) {
    const { page } = await openPage(browser, await bundle("page.ts", react));
    console.log(`React ${await page.evaluate(() => window.bench.version)}, 5 s, 1s candles\n`);
    console.log("| case | hook | requests | subscriptions | renders | drawings | candles shown |");
    console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for (const name of CASES) {
      for (const hook of HOOKS) {
        const { requests, subscriptions, renders, drawings, candles }: Figures = await page.evaluate(
          ([name, hook]) => window.bench.run(name, hook),
          [name, hook] as const,
        );
        const cells = [name, hook, requests, subscriptions, renders, drawings, candles];
        console.log(`| ${cells.join(" | ")} |`);
      }
    }
    await page.close();
    const { page: quiet } = await openPage(browser, await bundle("page.ts", react, { mode: "production" }));
    await quiet.evaluate((times) => window.bench.mount(times), MOUNTS);
    const before = await heapOf(quiet);
    await quiet.evaluate((times) => window.bench.mount(times), MOUNTS);
    const grown = Math.round(((await heapOf(quiet)) - before) / MOUNTS);
    console.log(
      `\nAfter ${MOUNTS} more mounts, each with options of its own: ${grown} bytes a mount are left\n`,
    );
    await quiet.close();
  }
} finally {
  await browser.close();
}
