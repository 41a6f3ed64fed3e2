import type { Sniper, SniperEvent, SniperReport } from "pairstream";
import { dollarText, instantText, shortened } from "./figures.js";

const MOST_ROWS = 40;

/** The snipers of a pair, whoever swapped last on top; a row lights up when its wallet buys or sells. */
export class SniperTable {
  readonly #body: HTMLElement;
  readonly #count: HTMLElement;
  readonly #note: HTMLElement;
  /** By wallet. */
  readonly #rows = new Map<string, HTMLTableRowElement>();
  /** What is to light up at the next drawing. */
  readonly #lit = new Map<string, "bought" | "sold">();

  constructor(body: HTMLElement, count: HTMLElement, note: HTMLElement) {
    this.#body = body;
    this.#count = count;
    this.#note = note;
  }

  /** Remembers whom to light up; those of the first report are no news. */
  announce(event: SniperEvent): void {
    if (event.initial) return;
    if (event.type === "sniped") this.#lit.set(event.walletAddress, "bought");
    if (event.type === "sold") this.#lit.set(event.walletAddress, "sold");
    if (event.type === "wallet-added") this.#lit.set(event.wallet.walletAddress, "bought");
  }

  draw({ result }: SniperReport, now: number): void {
    const snipers = result
      .map((sniper) => ({ sniper, last: lastSwapOf(sniper) }))
      .sort((a, b) => b.last - a.last)
      .slice(0, MOST_ROWS);
    const rows = snipers.map(({ sniper, last }) => this.#row(sniper, last, now));
    for (const [address, row] of this.#rows) {
      if (!rows.includes(row)) this.#rows.delete(address);
    }
    // Rows that stay where they are keep their light and their place under the pointer.
    const isInPlace = rows.every((row, at) => this.#body.children[at] === row);
    if (!isInPlace || this.#body.children.length !== rows.length) this.#body.replaceChildren(...rows);
    for (const [address, side] of this.#lit) this.#light(address, side);
    this.#lit.clear();
    const rest = result.length - rows.length;
    this.#count.textContent = result.length === 0 ? "" : String(result.length);
    this.#note.textContent =
      result.length === 0 ? "None so far" : rest > 0 ? `and ${rest} who swapped longer ago` : "";
  }

  #row(sniper: Sniper, last: number, now: number): HTMLTableRowElement {
    const { walletAddress, currentBalanceUsdValue, totalSoldUsd, realizedProfitUsd } = sniper;
    const row = this.#rows.get(walletAddress) ?? emptyRow(walletAddress);
    this.#rows.set(walletAddress, row);
    const profit = realizedProfitUsd ?? 0;
    const cells = [
      shortened(walletAddress),
      last > 0 ? instantText(last, now) : "–",
      dollarText(currentBalanceUsdValue),
      dollarText(totalSoldUsd),
      dollarText(realizedProfitUsd, { signed: true }),
    ];
    cells.forEach((text, at) => {
      const cell = row.children[at] as HTMLElement;
      if (cell.textContent !== text) cell.textContent = text;
    });
    (row.lastElementChild as HTMLElement).className = profit > 0 ? "gain" : profit < 0 ? "loss" : "";
    return row;
  }

  #light(address: string, side: "bought" | "sold"): void {
    const row = this.#rows.get(address);
    if (row === undefined) return;
    row.dataset.lit = side;
    for (const animation of row.getAnimations()) animation.cancel();
    row.animate(
      [
        { backgroundColor: `var(--${side === "sold" ? "down" : "up"}-light)` },
        { backgroundColor: "transparent" },
      ],
      { duration: 4_000, easing: "ease-in" },
    ).onfinish = () => {
      delete row.dataset.lit;
    };
  }
}

function emptyRow(walletAddress: string): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.dataset.wallet = walletAddress;
  const heading = document.createElement("th");
  heading.scope = "row";
  heading.title = walletAddress;
  row.append(heading, ...Array.from({ length: 4 }, () => document.createElement("td")));
  return row;
}

function lastSwapOf({ snipedTransactions, sellTransactions }: Sniper): number {
  const instants = [...snipedTransactions, ...sellTransactions].map((one) => one.transactionTimestamp);
  return instants.reduce((last, instant) => Math.max(last, instant), 0);
}
