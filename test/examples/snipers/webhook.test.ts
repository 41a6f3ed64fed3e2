import { VirtualClock } from "pairstream";
import { Subject } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Alert } from "../../../examples/snipers/alerts.js";
import { webhook } from "../../../examples/snipers/webhook.js";

const ALERT: Alert = {
  ...{ id: "sale:pair:ann:sell:1", kind: "sale", side: "sell", usd: 1, trades: 1, observedAt: 0 },
  ...{ pairAddress: "pair", walletAddress: "ann" },
};

let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock(0);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Posts an alert to a receiver that answers so, one answer an attempt, the last one again and again. */
function post(answers: readonly (number | Error)[]) {
  const asked: { url: string; init: RequestInit; at: number }[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    asked.push({ url, init, at: clock.now() });
    const answer = answers[Math.min(asked.length, answers.length) - 1]!;
    if (answer instanceof Error) throw answer;
    return new Response(null, { status: answer, headers: { location: "http://elsewhere" } });
  });
  const heard: string[] = [];
  const stopped = new Subject<void>();
  const post = webhook({
    url: "http://localhost/secret",
    stopped,
    failed: (reason, delay) => heard.push(`${reason}, ${delay}`),
    scheduler: clock,
  });
  post(ALERT).then((isTaken) => heard.push(isTaken ? "taken" : "given up"));
  return { asked, heard, stopped };
}

describe("a webhook", () => {
  it("gets an alert as JSON with its id as the key, until it takes it, ever less often", async () => {
    const refused = new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
    const { asked, heard } = post([500, 404, refused, 302, 429, 503, 503, 503, 204]);
    await clock.advanceBy(600_000);
    expect(heard).toEqual([
      ...["it answered 500, 1000", "it answered 404, 2000", "ECONNREFUSED, 4000", "it answered 302, 8000"],
      ...[
        "it answered 429, 16000",
        "it answered 503, 32000",
        "it answered 503, 60000",
        "it answered 503, 60000",
      ],
      ...["taken"],
    ]);
    for (const { url, init } of asked) {
      expect(url).toBe("http://localhost/secret");
      expect(init).toMatchObject({ method: "POST", redirect: "manual" });
      expect(new Headers(init.headers).get("Idempotency-Key")).toBe(ALERT.id);
      expect(JSON.parse(init.body as string)).toEqual(ALERT);
    }
    expect(asked.at(-1)!.at).toBe(183_000);
  });

  it("is not asked again once the program is stopped, and the alert does not count as taken", async () => {
    const { asked, heard, stopped } = post([500]);
    await clock.advanceBy(500);
    stopped.next();
    await clock.advanceBy(600_000);
    expect(heard).toEqual(["it answered 500, 1000", "given up"]);
    expect(asked).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});
