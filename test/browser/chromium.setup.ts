import type { TestProject } from "vitest/node";
import { findChromium, serveChromium } from "./chromium.js";

declare module "vitest" {
  export interface ProvidedContext {
    /** The address of the Chromium that the tests share. */
    chromium: string;
  }
}

/** Starts one Chromium for all tests in a browser, if there is one. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const executablePath = findChromium();
  if (executablePath === undefined) return undefined;
  const server = await serveChromium(executablePath);
  project.provide("chromium", server.wsEndpoint());
  return () => server.close();
}
