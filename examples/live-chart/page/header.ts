import type { SniperReport } from "pairstream";
import { ageText, amountText, dollarText, percentText, plainPrice, priceText } from "../../page/figures.js";
import type { Selection } from "../gateway.js";
import { changeOver, DAY, HOUR, MINUTE, type PricePoint } from "./price-path.js";

const SPANS = { "change-5m": 5 * MINUTE, "change-1h": HOUR, "change-24h": DAY } as const;
const COPIED = 2_000;

/** What the header tells of a pair. */
export interface Headline {
  readonly selection: Selection;
  readonly path: readonly PricePoint[];
  /** Of the last 24 hours; `undefined` until it is known. */
  readonly volume: number | undefined;
  readonly report: SniperReport;
  /** By the service's clock. */
  readonly now: number;
}

const element = (id: string) => document.getElementById(id)!;

function write(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

/** Price, changes, volume and age. */
export function drawHeadline({ selection, path, volume, report, now }: Headline): void {
  const { currency } = selection;
  const price = path.at(-1)?.price;
  const sign = currency === "usd" ? "$" : "";
  write(element("price-shown"), price === undefined ? "–" : `${sign}${priceText(price)}`);
  write(element("price-spoken"), price === undefined ? "not known yet" : `${sign}${plainPrice(price)}`);
  write(element("price-unit"), currency === "usd" ? "" : "in native coin");
  for (const [id, span] of Object.entries(SPANS)) {
    const change = changeOver(path, now, span);
    const target = element(id);
    write(target, percentText(change));
    const shown = Math.round((change ?? 0) * 100);
    target.className = shown > 0 ? "gain" : shown < 0 ? "loss" : "";
  }
  write(
    element("volume"),
    volume === undefined ? "–" : currency === "usd" ? dollarText(volume) : amountText(volume),
  );
  const began = beginningOf(report);
  const isYoung = began !== undefined && now - began < DAY;
  write(element("change-day"), isYoung ? "Since launch" : "24h");
  write(element("volume-day"), isYoung ? "Volume" : "Volume 24h");
  write(element("age"), began === undefined ? "–" : ageText(now - began));
}

/** When a pair was created: events do not tell its first block, and its first sniper buys within the next few. */
function beginningOf({ blockTimestamp, result }: SniperReport): number | undefined {
  if (blockTimestamp !== null) return blockTimestamp;
  const instants = result.flatMap(({ snipedTransactions }) =>
    snipedTransactions.map((one) => one.transactionTimestamp),
  );
  return instants.length === 0 ? undefined : instants.reduce((first, instant) => Math.min(first, instant));
}

/** Copies the address that is shown; where that is not allowed, it is selected, to be copied by hand. */
export function startCopy(button: HTMLButtonElement, address: () => string): void {
  let last = 0;
  button.addEventListener("click", async () => {
    const shown = element("address");
    try {
      await navigator.clipboard.writeText(address());
      element("copied").textContent = "Copied";
    } catch {
      shown.textContent = address();
      getSelection()?.selectAllChildren(shown);
      element("copied").textContent = "Press Ctrl+C to copy";
    }
    last += 1;
    const own = last;
    setTimeout(() => {
      if (own === last) element("copied").textContent = "";
    }, COPIED);
  });
}
