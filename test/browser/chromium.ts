import { existsSync } from "node:fs";
import { type Browser, type BrowserServer, chromium } from "playwright-core";

const USUAL_PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Where Chromium is: `CHROMIUM_PATH`, which then has to exist, else one of the usual places. */
export function findChromium(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { CHROMIUM_PATH: path } = environment;
  const places = path ? [path] : USUAL_PLACES;
  return places.find((place) => existsSync(place));
}

/** What a window has beside its page, which costs more than most pages: the pages of its address bar. */
const ADDRESS_BAR = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];
/** What Playwright leaves out that tells in a page. Of several such lists a browser takes the last. */
const OF_PLAYWRIGHT = [
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
];

const ARGUMENTS = [
  // Chromium refuses to run in its sandbox as root.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
  "--disable-background-networking",
  "--disable-component-update",
  `--disable-features=${[...ADDRESS_BAR, ...OF_PLAYWRIGHT].join(",")}`,
  "--disable-domain-reliability",
  "--disable-sync",
  "--no-pings",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** A browser that talks to this machine only. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

/** Such a browser for whoever connects to its address; each has pages of its own. */
export function serveChromium(executablePath: string): Promise<BrowserServer> {
  return chromium.launchServer({ executablePath, args: ARGUMENTS, host: "127.0.0.1" });
}
