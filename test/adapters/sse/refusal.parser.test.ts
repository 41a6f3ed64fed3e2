import { gatewaySource } from "pairstream/sse";
import { firstValueFrom } from "rxjs";
import { expect, it, vi } from "vitest";
import { SERIES } from "../../candles/minute-candles.js";
import { URL_OF_GATEWAY } from "./gateway.js";

vi.mock("eventsource-parser", () => {
  throw new Error("Cannot find package 'eventsource-parser'");
});

it("a missing parser is named", async () => {
  await expect(firstValueFrom(gatewaySource(URL_OF_GATEWAY).candles(SERIES))).rejects.toMatchObject({
    name: "PairstreamError",
    message: expect.stringContaining("npm install eventsource-parser"),
    cause: expect.any(Error),
  });
});
