import { expect, it } from "vitest";
import { applySniperEvent, emptyReport, type SniperEvent, type SniperReport } from "../../src/index.js";
import { eventOf } from "../operators/events.js";

const BASE = { pairAddress: "a", initial: false, observedAt: 0 };

it.each<[name: string, event: unknown, said: string]>([
  ["nothing", undefined, "is undefined"],
  ["null", null, "is null"],
  ["a text", "wallet", 'is "wallet"'],
  ["a list", [{ ...BASE, type: "wallet-removed", previous: {} }], "is a list"],
  ["an empty object", {}, "is an object;"],
  ["an event of watchCandles", eventOf("updated", 1), "is an object with type, previous, candle"],
  ["an event of no known type", { ...BASE, type: "toString" }, "is an object with pairAddress, initial"],
  ["a wallet that was added, without it", { ...BASE, type: "wallet-added" }, "observedAt, type;"],
  ["a wallet that was removed, without it", { ...BASE, type: "wallet-removed", wallet: {} }, "type, wallet;"],
  ["a sale without its transaction", { ...BASE, type: "sold", walletAddress: "w" }, "walletAddress;"],
])("applySniperEvent says what it was given in place of an event: %s", (_, event, said) => {
  const apply = () => applySniperEvent(emptyReport, event as SniperEvent);
  const refused = { name: "InvalidInputError", parameter: "event", allowed: "an event of watchSnipers" };
  expect(apply).toThrow(expect.objectContaining({ ...refused, message: expect.stringContaining(said) }));
});

it.each([
  [undefined, "is undefined"],
  [{}, "is an object;"],
  [[], "is a list"],
])("applySniperEvent says what it was given in place of a report: %j", (report, said) => {
  const event = { ...BASE, type: "sold", walletAddress: "w", transaction: {} } as SniperEvent;
  const apply = () => applySniperEvent(report as unknown as SniperReport, event);
  const refused = { name: "InvalidInputError", parameter: "report" };
  expect(apply).toThrow(expect.objectContaining({ ...refused, message: expect.stringContaining(said) }));
});
