import { asyncScheduler, firstValueFrom } from "rxjs";
import { expect, it } from "vitest";
import { feedKindOf } from "../../../src/adapters/nats/feed-kinds.js";
import type { Publisher } from "../../../src/adapters/nats/publisher.js";
import { candleSubjects } from "../../../src/adapters/nats/subjects.js";
import { createClient } from "../../../src/index.js";
import { openBusyService, seriesOf, WATCH } from "./busy-service.js";

it("a series goes on with its first candle that can still change, also where that has begun before what is kept", async () => {
  const market = await openBusyService(["pair"]);
  const client = createClient({ baseUrl: market.url, apiKey: "key" });
  const means = { client, scheduler: asyncScheduler, retention: 1_000 };
  const publisher = { offer: () => {} } as unknown as Publisher;
  const second = Math.floor(Date.now() / 1_000) * 1_000;
  const open = [second - 9_000, second - 10_000].map(String);
  const { offered } = feedKindOf({ ...seriesOf("pair"), ...WATCH }, means).follow({
    feed: candleSubjects("p", seriesOf("pair")),
    publisher,
    epoch: 1,
    open,
    before: undefined,
  });
  expect(await firstValueFrom(offered)).toBe(open[1]);
  await market.close();
});
