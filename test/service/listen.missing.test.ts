import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { expect, it, vi } from "vitest";

vi.mock("hono", () => {
  throw new Error("Cannot find package 'hono'");
});

it("listen names the packages that it needs where they are missing", async () => {
  const service = createPairService({ source: simulatedMarket({ seed: 3 }) });
  await expect(listen(service, { port: 0 })).rejects.toMatchObject({
    name: "PairstreamError",
    message: expect.stringContaining("npm install hono @hono/node-server"),
    cause: expect.any(Error),
  });
});
