import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path/posix";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { root } from "../documents/files.js";
import { endAll, run } from "../examples/program.js";
import { POOR_SERVICES } from "./poor-services.js";
import { programForEach, servePoorly } from "./served.js";

const IN_TIME = 15_000;

afterEach(endAll);

/** The README's program before all of them at once, in one process; those of which a minute tells are asked in virtual time. */
it("the program of the README names the reason within 15 s, over HTTP", async () => {
  const services = await servePoorly();
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "heard-"));
  try {
    writeFileSync(join(folder, "stream.mjs"), programForEach());
    const program = run(join(folder, "stream.mjs"), services.baseUrls);
    const silent = () =>
      Object.entries(POOR_SERVICES)
        .filter(([, { within, words }]) => within === undefined && !words.test(program.errors()))
        .map(([name]) => name);
    while (services.asked.length === 0) await sleep(50);
    const asked = performance.now();
    while (silent().length > 0 && performance.now() < asked + IN_TIME) await sleep(50);
    expect(silent()).toEqual([]);
    // Those that cannot work have ended, and nothing has come of any.
    expect(program.errors().match(/; the stream ends$/gm)).toHaveLength(3);
    expect(program.lines).toEqual([]);
  } finally {
    services.close();
    rmSync(folder, { recursive: true });
  }
});
