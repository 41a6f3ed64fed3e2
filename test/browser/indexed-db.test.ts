import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { CandleStore } from "pairstream/store";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { describeStore } from "../adapters/store/conformance.js";
import { candleAt, keyOf, MINUTE } from "../adapters/store/conformance-data.js";
import { findChromium } from "./chromium.js";
import { connectToChromium } from "./shared-chromium.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
/** Of no server: what the pages show is given to them. */
const ORIGIN = "http://127.0.0.1:9/";

type Method = "read" | "write" | "forget";
type Opened = Awaited<ReturnType<typeof import("pairstream/store")["indexedDbStore"]>>;
type Outcome = { readonly value: unknown } | { readonly error: { name: string; message: string } };

/** What the bundled door is in a page. */
declare const stores: typeof import("pairstream/store");

describe.skipIf(executablePath === undefined && !isRequired)("in a real browser", () => {
  let browser: Browser;
  let door: string;
  /** Of all stores but one: each has a name of its own. */
  let page: Page;
  let count = 0;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    const entry = fileURLToPath(new URL("../../src/adapters/store/index.ts", import.meta.url));
    const { outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: "iife",
      globalName: "stores",
    });
    door = outputFiles[0]!.text;
    browser = await connectToChromium();
    page = await openPage(await browser.newContext());
  });
  afterAll(() => browser?.close());

  async function openPage(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    await page.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>A page" }));
    await page.goto(ORIGIN);
    await page.addScriptTag({ content: door });
    return page;
  }

  /** The store of a page, as if it were here. */
  async function storeIn(page: Page, name: string): Promise<CandleStore> {
    const opened = await page.evaluateHandle((name) => stores.indexedDbStore(name), name);
    const call = async (method: Method, ...args: unknown[]) => {
      const outcome = await opened.evaluate(
        (store: Opened, { method, args }): Promise<Outcome> =>
          (store[method] as (...args: unknown[]) => Promise<unknown>)(...args).then(
            (value) => ({ value }),
            ({ name, message }: Error) => ({ error: { name, message } }),
          ),
        { method, args },
      );
      if ("error" in outcome) throw Object.assign(new Error(outcome.error.message), outcome.error);
      return outcome.value;
    };
    return {
      read: (key, range) => call("read", key, range) as ReturnType<CandleStore["read"]>,
      write: (key, known) => call("write", key, known) as Promise<void>,
      forget: (key, from, to) => call("forget", key, from, to) as Promise<void>,
    };
  }

  // Every call of the property goes to the browser and back.
  describeStore("indexedDbStore", () => storeIn(page, `store-${++count}`), 15);

  it("is there for the next page of its origin, and for another one at the same time", async () => {
    const name = `store-${++count}`;
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    const pages = [await openPage(context), await openPage(context)];
    const [one, other] = await Promise.all(pages.map((page) => storeIn(page, name)));
    const known = { from: 0, to: 2 * MINUTE, candles: [candleAt(1)] };
    await one!.write(keyOf("pair"), known);
    const expected = { candles: known.candles, covered: [{ from: 0, to: known.to }] };
    expect(await other!.read(keyOf("pair"), { from: 0, to: 9 * MINUTE })).toEqual(expected);
  });

  it("leaves all as it was where a part of a write fails", async () => {
    const name = `store-${++count}`;
    const store = await storeIn(page, name);
    const key = keyOf("pair");
    const known = { from: 0, to: 2 * MINUTE, candles: [candleAt(0), candleAt(1)] };
    await store.write(key, known);
    /** Puts something else where what is covered stands, and gives what was there. */
    const putCovered = (value: unknown) =>
      page.evaluate(
        ({ name, value }) =>
          new Promise<unknown>((resolve, reject) => {
            const opening = indexedDB.open(name);
            opening.onsuccess = () => {
              const transaction = opening.result.transaction("covered", "readwrite");
              const covered = transaction.objectStore("covered");
              const getting = covered.getAll();
              const keys = covered.getAllKeys();
              keys.onsuccess = () => covered.put(value, keys.result[0]);
              transaction.oncomplete = () => {
                opening.result.close();
                resolve(getting.result[0]);
              };
              transaction.onerror = () => reject(transaction.error);
            };
          }),
        { name, value },
      );
    const before = await putCovered(5);
    await expect(store.write(key, { ...known, candles: [candleAt(1, 9)] })).rejects.toThrow();
    await expect(store.forget(key, 0, MINUTE)).rejects.toThrow();
    await putCovered(before);
    expect(await store.read(key, { from: 0, to: 9 * MINUTE })).toEqual({
      candles: known.candles,
      covered: [{ from: 0, to: known.to }],
    });
  });

  /** What a page of a later version does. */
  const makeLater = (name: string) =>
    page.evaluate(
      (name) =>
        new Promise<void>((resolve, reject) => {
          const request = indexedDB.open(name, 2);
          request.onsuccess = () => {
            request.result.close();
            resolve();
          };
          request.onerror = () => reject(request.error);
        }),
      name,
    );
  const remove = (name: string) =>
    page.evaluate(
      (name) =>
        new Promise<void>((resolve, reject) => {
          const request = indexedDB.deleteDatabase(name);
          request.onsuccess = () => resolve();
          request.onerror = () => reject(request.error);
        }),
      name,
    );

  it("rejects where a later version has made the database", async () => {
    const name = `store-${++count}`;
    await makeLater(name);
    await expect(storeIn(page, name)).rejects.toThrow(/could not be opened/);
  });

  describe("whose database is taken from an open page", () => {
    const key = keyOf("pair");
    const all = { from: 0, to: 9 * MINUTE };
    const first = { from: 0, to: MINUTE, candles: [candleAt(0)] };
    const second = { from: MINUTE, to: 2 * MINUTE, candles: [candleAt(1)] };
    const onlySecond = { candles: second.candles, covered: [{ from: second.from, to: second.to }] };

    it("goes on in a new one where it was deleted, for all that ask at once", async () => {
      const name = `store-${++count}`;
      const store = await storeIn(page, name);
      await store.write(key, first);
      await remove(name);
      const [read] = await Promise.all([store.read(key, all), store.write(key, second)]);
      expect(read).toEqual({ candles: [], covered: [] });
      expect(await store.read(key, all)).toEqual(onlySecond);
      // One that is opened anew gives way, too.
      await remove(name);
      expect(await store.read(key, all)).toEqual({ candles: [], covered: [] });
    });

    it("goes on in a new one where the user clears the data of the site", async () => {
      const context = await browser.newContext();
      onTestFinished(() => context.close());
      const own = await openPage(context);
      const store = await storeIn(own, `store-${++count}`);
      await store.write(key, first);
      const session = await context.newCDPSession(own);
      const { origin } = new URL(ORIGIN);
      await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "indexeddb" });
      await store.write(key, second);
      expect(await store.read(key, all)).toEqual(onlySecond);
    });

    it("goes on while the user clears the data of the site, at whatever moment", async () => {
      const context = await browser.newContext();
      onTestFinished(() => context.close());
      const own = await openPage(context);
      const store = await storeIn(own, `store-${++count}`);
      const session = await context.newCDPSession(own);
      const { origin } = new URL(ORIGIN);
      for (let time = 0; time < 20; time++) {
        let isCleared = false;
        const clearing = session
          .send("Storage.clearDataForOrigin", { origin, storageTypes: "indexeddb" })
          .finally(() => (isCleared = true));
        while (!isCleared) await Promise.all([store.write(key, first), store.read(key, all)]);
        await clearing;
        await store.write(key, second);
        expect((await store.read(key, all)).covered).toContainEqual({ from: 0, to: second.to });
      }
    });

    it("says so at each call while a later version has it, and goes on once that is gone", async () => {
      const name = `store-${++count}`;
      const store = await storeIn(page, name);
      await store.write(key, first);
      await makeLater(name);
      await expect(store.write(key, second)).rejects.toThrow(/could not be opened/);
      await expect(store.read(key, all)).rejects.toThrow(/could not be opened/);
      await remove(name);
      await store.write(key, second);
      expect(await store.read(key, all)).toEqual(onlySecond);
    });

    it("stays closed where the page has closed it, also while it is opened anew", async () => {
      const name = `store-${++count}`;
      const opened = await page.evaluateHandle((name) => stores.indexedDbStore(name), name);
      await remove(name);
      const messages = await opened.evaluate(
        async (store: Opened, [key, all]) => {
          const messageOf = (error: Error) => error.message;
          const anew = store.read(key, all).then(() => "read", messageOf);
          // It has asked for the database by then, which comes later than any promise.
          for (let turn = 0; turn < 50; turn++) await undefined;
          store.close();
          return [await anew, await store.read(key, all).then(() => "read", messageOf)];
        },
        [key, all] as const,
      );
      expect(messages).toEqual([
        expect.stringContaining("connection is closing"),
        expect.stringContaining("connection is closing"),
      ]);
    });
  });
});
