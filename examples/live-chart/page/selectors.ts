import type { Choices, Selection } from "../gateway.js";
import { shortened } from "./figures.js";

/** The three selectors; what they show is also in the address of the page, which can be passed on. */
export function startSelectors(choices: Choices, onChange: (selection: Selection) => void): void {
  const asked = new URLSearchParams(location.search);
  const { pairs, timeframes, currencies, first } = choices;
  const pick = <T extends string>(name: string, allowed: readonly T[], standard: T): T =>
    allowed.find((one) => one === asked.get(name)) ?? standard;
  let selection: Selection = {
    pairAddress: pick("pair", pairs, first.pairAddress),
    timeframe: pick("timeframe", timeframes, first.timeframe),
    currency: pick("currency", currencies, first.currency),
  };
  const change = (part: Partial<Selection>) => {
    selection = { ...selection, ...part };
    history.replaceState(null, "", `?${queryOf(selection)}`);
    onChange(selection);
  };
  fill(
    "pair",
    pairs,
    selection.pairAddress,
    (address) => shortened(address),
    (pairAddress) => change({ pairAddress }),
  );
  fill("timeframe", timeframes, selection.timeframe, String, (timeframe) => change({ timeframe }));
  fill("currency", currencies, selection.currency, String, (currency) => change({ currency }));
  onChange(selection);
}

/** A selection as the gateway takes it. */
export function queryOf({ pairAddress, timeframe, currency }: Selection): string {
  return new URLSearchParams({ pair: pairAddress, timeframe, currency }).toString();
}

function fill<T extends string>(
  id: string,
  values: readonly T[],
  value: T,
  name: (value: T) => string,
  onChange: (value: T) => void,
): void {
  const select = document.querySelector<HTMLSelectElement>(`#${id}`)!;
  select.replaceChildren(...values.map((one) => new Option(name(one), one, one === value, one === value)));
  select.addEventListener("change", () => onChange(values[select.selectedIndex]!));
}
