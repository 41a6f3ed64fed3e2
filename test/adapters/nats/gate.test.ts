import type { SchedulerLike } from "rxjs";
import { describe, expect, it } from "vitest";
import { Gate } from "../../../src/adapters/nats/gate.js";
import type { Starter } from "../../../src/client/core.js";
import { createClient, VirtualClock } from "../../../src/index.js";

/** A gate, and a budget that lets each request start after `wait` ms; it notes when they went out, after the start. */
function stage({ wait = 0 } = {}) {
  const clock = new VirtualClock(1_000_000);
  const start = clock.now();
  let back = 0;
  const scheduler = { now: () => clock.now() - back, schedule: clock.schedule.bind(clock) } as SchedulerLike;
  const client = createClient({ baseUrl: "https://service.test", apiKey: "key", scheduler, warn: false });
  const sent: number[] = [];
  const gate = new Gate(client);
  const whole: Starter = async (_priority, _signal, begin) => {
    await new Promise<void>((resolve) => clock.schedule(() => resolve(), wait));
    return begin(clock.now(), () => {});
  };
  const starter = gate.within(whole);
  const ask = (signal?: AbortSignal) =>
    starter("close", signal, async () => {
      sent.push(clock.now() - start);
    });
  return {
    ...{ clock, gate, sent, ask },
    lasts: (ms: number) => gate.extend(scheduler.now() + ms, () => {}),
    setBack: (ms: number) => {
      back += ms;
    },
  };
}

describe("the gate of a collector", () => {
  it("lets nothing out before it leads, and then not before requests of others have stopped to count", async () => {
    const { clock, gate, sent, ask, lasts } = stage();
    const answers = Promise.all([ask(), ask()]);
    await clock.advanceBy(5_000);
    expect(sent).toEqual([]);
    lasts(60_000);
    gate.shutFor(3_000);
    await clock.advanceBy(2_999);
    expect([gate.mayAct, gate.isOpen, sent]).toEqual([true, false, []]);
    await clock.advanceBy(1);
    await answers;
    expect(sent).toEqual([8_000, 8_000]);
  });

  it("is shut where the lease runs out, and calls back; one that is extended goes on", async () => {
    const { clock, gate, sent, ask, lasts } = stage();
    let expired = 0;
    gate.extend(clock.now() + 1_000, () => {
      expired += 1;
    });
    gate.shutFor(0);
    await clock.advanceBy(999);
    lasts(2_000);
    await clock.advanceBy(1_500);
    expect([expired, gate.isOpen]).toEqual([0, true]);
    await clock.advanceBy(1_000);
    const waiting = ask();
    await clock.advanceBy(1_000);
    expect([gate.mayAct, sent]).toEqual([false, []]);
    lasts(1_000);
    await clock.advanceBy(0);
    await waiting;
    expect(sent).toHaveLength(1);
  });

  it("keeps a request back whose turn in the budget comes when the lease is over", async () => {
    const { clock, gate, sent, ask, lasts } = stage({ wait: 1_000 });
    lasts(500);
    gate.shutFor(0);
    await clock.advanceBy(0);
    const asked = ask();
    await clock.advanceBy(10_000);
    expect(sent).toEqual([]);
    lasts(5_000);
    await clock.advanceBy(1_000);
    await asked;
    expect(sent).toEqual([11_000]);
  });

  it("lets one that waits leave", async () => {
    const { clock, sent, ask } = stage();
    const stopping = new AbortController();
    const asked = ask(stopping.signal);
    await clock.advanceBy(0);
    stopping.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
    await expect(ask(stopping.signal)).rejects.toThrow("enough");
    expect(sent).toEqual([]);
  });

  it("does not know how long the lease lasts once the clock was set back", () => {
    const { gate, lasts, setBack } = stage();
    lasts(10_000);
    expect([gate.mayAct, gate.setBacks]).toEqual([true, 0]);
    setBack(60_000);
    expect([gate.mayAct, gate.setBacks]).toEqual([false, 1]);
    lasts(10_000);
    expect([gate.mayAct, gate.setBacks]).toEqual([true, 1]);
  });
});
