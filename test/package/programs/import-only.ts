// Imports every door, and tells what that alone has changed in the process.
export {};

declare const process: { getActiveResourcesInfo(): string[]; listenerCount(event: string): number };

const EVENTS = ["beforeExit", "uncaughtException", "unhandledRejection", "SIGINT", "SIGTERM"];

/** What code that does something on import could leave: globals, methods of what is built in, listeners. */
function traces(): string[] {
  const builtins = Object.getOwnPropertyNames(globalThis).flatMap((name) => {
    const value = (globalThis as Record<string, unknown>)[name];
    const members = typeof value === "function" && value.prototype ? Reflect.ownKeys(value.prototype) : [];
    return [name, ...members.map((member) => `${name}.prototype.${String(member)}`)];
  });
  const listeners = EVENTS.map((event) => `${process.listenerCount(event)} listeners of ${event}`);
  return [...builtins, ...listeners];
}

async function main(): Promise<{ names: number; changed: string[]; timers: number }> {
  const before = new Set(traces());
  const doors = [
    await import("pairstream"),
    await import("pairstream/service"),
    await import("pairstream/sse"),
    await import("pairstream/nats"),
    await import("pairstream/store"),
    await import("pairstream/react"),
    await import("pairstream/tradingview"),
    await import("pairstream/otel"),
    await import("pairstream/backtest"),
  ];
  return {
    names: doors.flatMap((door) => Object.keys(door)).length,
    changed: traces().filter((trace) => !before.has(trace)),
    timers: process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length,
  };
}

main().then((result) => console.log(JSON.stringify(result)));
