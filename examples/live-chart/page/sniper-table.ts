import { holdingOf, type Sniper, type SniperEvent, type SniperReport } from "pairstream";
import { dollarText, instantText, percentText, shortened, type Zone } from "../../page/figures.js";
import { sortByHeadings } from "../../page/sorted-headings.js";
import {
  COLUMNS,
  FIRST_ORDER,
  lastSwapOf,
  type Order,
  ordered,
  profitPercent,
  startsDescending,
} from "./sniper-order.js";

const MOST_ROWS = 60;

/** The snipers of a pair, in the order of the heading that was clicked; a row lights up when its wallet swaps. */
export class SniperTable {
  readonly #body: HTMLElement;
  readonly #count: HTMLElement;
  readonly #note: HTMLElement;
  /** By wallet. */
  readonly #rows = new Map<string, HTMLTableRowElement>();
  /** What is to light up at the next drawing. */
  readonly #lit = new Map<string, "bought" | "sold">();
  #order: Order = FIRST_ORDER;

  /** `onSort` is called when another order is asked for. */
  constructor(table: HTMLTableElement, count: HTMLElement, note: HTMLElement, onSort: () => void) {
    this.#body = table.tBodies[0]!;
    this.#count = count;
    this.#note = note;
    sortByHeadings(table, {
      columns: COLUMNS,
      first: FIRST_ORDER,
      startsDescending,
      onSort: (order) => {
        this.#order = order;
        onSort();
      },
    });
  }

  /** Remembers whom to light up; those of the first report are no news. */
  announce(event: SniperEvent): void {
    if (event.initial) return;
    if (event.type === "sniped") this.#lit.set(event.walletAddress, "bought");
    if (event.type === "sold") this.#lit.set(event.walletAddress, "sold");
    if (event.type === "wallet-added") this.#lit.set(event.wallet.walletAddress, "bought");
  }

  draw({ result }: SniperReport, now: number, zone: Zone): void {
    const rows = ordered(result, this.#order)
      .slice(0, MOST_ROWS)
      .map((sniper) => this.#row(sniper, now, zone));
    const kept = new Set(rows);
    for (const [address, row] of this.#rows) if (!kept.has(row)) this.#rows.delete(address);
    // Rows that stay where they are keep their light and their place under the pointer.
    const isInPlace = rows.every((row, at) => this.#body.children[at] === row);
    if (!isInPlace || this.#body.children.length !== rows.length) this.#body.replaceChildren(...rows);
    for (const [address, side] of this.#lit) this.#light(address, side);
    this.#lit.clear();
    const rest = result.length - rows.length;
    this.#count.textContent = result.length === 0 ? "" : String(result.length);
    this.#note.textContent = result.length === 0 ? "None so far" : rest > 0 ? `and ${rest} more` : "";
  }

  #row(sniper: Sniper, now: number, zone: Zone): HTMLTableRowElement {
    const { walletAddress, totalSoldUsd, realizedProfitUsd } = sniper;
    const row = this.#rows.get(walletAddress) ?? emptyRow(walletAddress);
    this.#rows.set(walletAddress, row);
    const last = lastSwapOf(sniper);
    const profit = realizedProfitUsd ?? 0;
    const cells = [
      shortened(walletAddress),
      last === null ? "–" : instantText(last, now, zone),
      dollarText(holdingOf(sniper).usd),
      dollarText(totalSoldUsd),
      dollarText(realizedProfitUsd, { signed: true }),
      percentText(profitPercent(sniper)),
    ];
    cells.forEach((text, at) => {
      const cell = row.children[at] as HTMLElement;
      if (cell.textContent !== text) cell.textContent = text;
      if (at >= 4) cell.className = profit > 0 ? "gain" : profit < 0 ? "loss" : "";
    });
    return row;
  }

  #light(address: string, side: "bought" | "sold"): void {
    const row = this.#rows.get(address);
    if (row === undefined) return;
    row.dataset.lit = side;
    for (const animation of row.getAnimations()) animation.cancel();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const colour = `color-mix(in srgb, var(--${side === "sold" ? "down" : "up"}) 30%, transparent)`;
    row.animate([{ backgroundColor: colour }, { backgroundColor: isCalm ? colour : "transparent" }], {
      duration: 4_000,
      easing: "ease-in",
    }).onfinish = () => {
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
  row.append(heading, ...Array.from({ length: 5 }, () => document.createElement("td")));
  return row;
}
