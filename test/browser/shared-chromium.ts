import { type Browser, chromium } from "playwright-core";
import { inject } from "vitest";

/** The Chromium that all tests share; once it is closed here, the pages that were opened here are gone. */
export function connectToChromium(): Promise<Browser> {
  return chromium.connect(inject("chromium"));
}
