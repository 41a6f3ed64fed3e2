import { asyncScheduler, firstValueFrom } from "rxjs";
import { expect, it } from "vitest";
import { kindOf } from "../../../src/adapters/nats/feed-kinds.js";
import type { FeedPublisher } from "../../../src/adapters/nats/publisher.js";
import { createClient } from "../../../src/index.js";
import { openMarket, seriesOf, WATCH } from "./market.js";

it("a series goes on with its first candle that can still change, also where that has begun before what is kept", async () => {
  const market = await openMarket(["pair"]);
  const client = createClient({ baseUrl: market.url, apiKey: "key" });
  const means = { client, scheduler: asyncScheduler, retention: 1_000 };
  const publisher = { offer: () => {} } as unknown as FeedPublisher;
  const second = Math.floor(Date.now() / 1_000) * 1_000;
  const open = [second - 9_000, second - 10_000].map(String);
  const { offered } = kindOf({ ...seriesOf("pair"), ...WATCH }, means).follow({
    publisher,
    epoch: 1,
    open,
    before: undefined,
  });
  expect(await firstValueFrom(offered)).toBe(open[1]);
  await market.close();
});
