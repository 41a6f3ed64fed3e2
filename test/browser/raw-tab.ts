import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** A tab of a browser that takes no part in what is seen: it can be hidden and frozen as a user's is. */
export interface RawTab {
  send(method: string, parameters?: object): Promise<unknown>;
  evaluate(expression: string): Promise<unknown>;
  /** Hides the tab's window, or shows it. */
  hide(isHidden: boolean): Promise<void>;
  close(): Promise<void>;
}

interface Answer {
  readonly id?: number;
  readonly result?: object;
  readonly error?: { readonly message: string };
}

/**
 * Opens Chromium with one tab. Playwright tells every tab that it is seen and has the focus, and such a tab cannot be
 * frozen: this one is spoken to directly.
 */
export async function openRawTab(executablePath: string): Promise<RawTab> {
  const profile = await mkdtemp(join(tmpdir(), "raw-tab-"));
  const flags = ["--headless=new", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "--no-first-run"];
  if (process.getuid?.() === 0) flags.push("--no-sandbox");
  const child = spawn(
    executablePath,
    [...flags, "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank"],
    {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    },
  );
  const ended = new Promise((resolve) => child.once("close", resolve));
  const [out, back] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
  const waiting = new Map<number, (answer: Answer) => void>();
  let text = "";
  back.setEncoding("utf8").on("data", (piece: string) => {
    const messages = `${text}${piece}`.split("\0");
    text = messages.pop()!;
    for (const message of messages) {
      const answer = JSON.parse(message) as Answer;
      if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
    }
  });
  let last = 0;
  const call = async <T>(method: string, params: object = {}, sessionId?: string): Promise<T> => {
    const id = ++last;
    const answer = await new Promise<Answer>((resolve) => {
      waiting.set(id, resolve);
      out.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
    waiting.delete(id);
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result as T;
  };

  const { targetInfos } = await call<{ targetInfos: { type: string; targetId: string }[] }>(
    "Target.getTargets",
  );
  const { targetId } = targetInfos.find(({ type }) => type === "page")!;
  const { sessionId } = await call<{ sessionId: string }>("Target.attachToTarget", {
    ...{ targetId, flatten: true },
  });
  const { windowId } = await call<{ windowId: number }>("Browser.getWindowForTarget", { targetId });
  await call("Page.enable", {}, sessionId);
  return {
    send: (method, parameters) => call(method, parameters, sessionId),
    async evaluate(expression) {
      const { result, exceptionDetails } = await call<{
        result: { value?: unknown };
        exceptionDetails?: { exception?: { description?: string } };
      }>("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }, sessionId);
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description);
      return result.value;
    },
    async hide(isHidden) {
      const bounds = { windowState: isHidden ? "minimized" : "normal" };
      await call("Browser.setWindowBounds", { windowId, bounds });
    },
    async close() {
      child.kill();
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
