import { expect, it, vi } from "vitest";

async function loadAgain() {
  vi.resetModules();
  return import("./free-port.js");
}

it("gives a port once, whoever asks: also while nothing listens there yet", async () => {
  const askers = [await loadAgain(), await loadAgain(), await loadAgain()];
  const ports: number[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    for (const { freePort } of askers) ports.push(await freePort());
  }
  expect(new Set(ports).size).toBe(30);
});
