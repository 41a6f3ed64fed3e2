import { concat, from, NEVER, Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  publishFeedStatus,
  publishSnipers,
  watchPublishedFeedStatus,
  watchPublishedSnipers,
} from "../../../src/adapters/nats/index.js";
import { SNIPER_TOTALS } from "../../../src/contract/model.js";
import {
  applySniperEvent,
  emptyReport,
  type FeedStatus,
  type Series,
  type SniperEvent,
} from "../../../src/index.js";
import { live, type OnServer, onServer, SERIES } from "./published-world.js";
import { hasServer, until } from "./servers.js";
import { walletOf } from "./wallets.js";

describe.skipIf(!hasServer)("published over a server", () => {
  let { publishing, watching, name } = {} as OnServer;
  onServer((world) => {
    ({ publishing, watching, name } = world);
  });

  describe("how a feed stands", () => {
    const follow = (feed: Series | { pairAddress: string } = SERIES) => {
      const told: FeedStatus[] = [];
      const following = watchPublishedFeedStatus(watching, feed, { name, heartbeat: 300 }).subscribe(
        (status) => told.push(status),
      );
      return { told, states: () => told.map(({ state }) => state), leave: () => following.unsubscribe() };
    };

    it("is starting at once, then as published, stalled once the publisher is gone, and live again with the next", async () => {
      const first = publishFeedStatus(publishing, SERIES, concat(from([live(1, 2)]), NEVER), { name });
      const one = first.subscribe();
      const { told, states, leave } = follow();
      expect(states()).toEqual(["starting"]);
      await until("it is live", () => states().at(-1) === "live");
      expect(told.at(-1)).toEqual(live(1, 2));
      one.unsubscribe();
      await until("it is stalled", () => states().at(-1) === "stalled");
      expect(told.at(-1)).toMatchObject({
        ...live(1, 2),
        state: "stalled",
        failures: 1,
        lastError: { name: "NetworkError" },
      });
      const late = follow();
      await until("so it is for one who comes now", () => late.states().at(-1) === "stalled");
      expect(late.states()).toEqual(["starting", "stalled"]);
      const two = publishFeedStatus(publishing, SERIES, concat(from([live(1, 5)]), NEVER), {
        name,
      }).subscribe();
      await until("it is live again", () => [told, late.told].every((list) => list.at(-1)?.state === "live"));
      expect(told.at(-1)).toEqual(live(1, 5));
      two.unsubscribe();
      leave();
      late.leave();
    });
  });

  describe("snipers", () => {
    const told = (observedAt: number) => ({ pairAddress: "pair", initial: false, observedAt });

    it("come as the wallets that are there, then as what changes", async () => {
      const source = new Subject<SniperEvent>();
      const running = publishSnipers(publishing, source, { name, blocksAfterCreation: 3 }).subscribe();
      source.next({ ...told(1), type: "wallet-added", wallet: walletOf("a.*>", 1) });
      source.next({ ...told(1), type: "wallet-added", wallet: walletOf("status", 0) });
      const events: SniperEvent[] = [];
      const query = { pairAddress: "pair", blocksAfterCreation: 3 };
      const following = watchPublishedSnipers(watching, query, { name }).subscribe((one) => events.push(one));
      await until("both", () => events.length === 2);
      const sale = walletOf("status", 1).sellTransactions[0]!;
      source.next({ ...told(2), type: "sold", walletAddress: "status", transaction: sale });
      source.next({
        ...told(2),
        type: "wallet-updated",
        wallet: walletOf("status", 1),
        previous: walletOf("status", 0),
        changed: SNIPER_TOTALS,
      });
      source.next({ ...told(2), type: "wallet-removed", previous: walletOf("a.*>", 1) });
      const types = () => events.slice(2).map(({ type }) => type);
      await until("the rest", () => types().includes("wallet-removed") && types().includes("wallet-updated"));
      expect(types().sort()).toEqual(["sold", "wallet-removed", "wallet-updated"]);
      const { result } = events.reduce(applySniperEvent, emptyReport);
      expect(result).toEqual([walletOf("status", 1)]);
      following.unsubscribe();
      running.unsubscribe();
    });
  });
});
