import { dayText, instantText, shortened, type Zone } from "../../page/figures.js";
import type { SniperSwap } from "./sniper-order.js";

const MOST = 40;

/** What snipers bought and sold, the newest on top. */
export function drawSwaps(list: HTMLElement, swaps: readonly SniperSwap[], now: number, zone: Zone): void {
  const keys = swaps.slice(0, MOST).map(({ wallet, side, transaction }) => {
    return { key: `${wallet} ${side} ${transaction.transactionHash}`, wallet, side, transaction };
  });
  // A list that stands still is not made anew at every poll.
  const drawn = [zone, dayText(now, zone), ...keys.map(({ key }) => key)].join();
  if (list.dataset.drawn === drawn) return;
  list.dataset.drawn = drawn;
  // It scrolls, and has nothing else that a key could get to.
  list.tabIndex = 0;
  list.replaceChildren(
    ...keys.map(({ wallet, side, transaction }) => {
      const entry = document.createElement("li");
      const time = document.createElement("time");
      time.dateTime = new Date(transaction.transactionTimestamp).toISOString();
      time.textContent = instantText(transaction.transactionTimestamp, now, zone);
      const what = document.createElement("b");
      what.className = side === "buy" ? "gain" : "loss";
      what.textContent = side === "buy" ? "Bought" : "Sold";
      const who = document.createElement("span");
      who.textContent = shortened(wallet);
      who.title = wallet;
      entry.append(time, what, who);
      return entry;
    }),
  );
}
