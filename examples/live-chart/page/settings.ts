import type { Zone } from "../../page/figures.js";
import type { Choices, Selection } from "../gateway.js";
import { SWITCHES, type SwitchId } from "./indicators.js";

const STORED = "pairstream-chart";

/** How the chart is looked at; kept in the browser. */
export interface Look {
  readonly on: readonly SwitchId[];
  readonly isLog: boolean;
  readonly zone: Zone;
}

export const FIRST_LOOK: Look = {
  on: SWITCHES.flatMap(({ id, isOn }) => (isOn ? [id] : [])),
  isLog: false,
  zone: "utc",
};

/** A look from its stored text; what is not known of it is as at first. */
export function lookFrom(text: string | null): Look {
  try {
    const { on, isLog, zone } = JSON.parse(text ?? "{}") as Partial<Record<keyof Look, unknown>>;
    return {
      on: Array.isArray(on) ? SWITCHES.flatMap(({ id }) => (on.includes(id) ? [id] : [])) : FIRST_LOOK.on,
      isLog: isLog === true,
      zone: zone === "local" ? "local" : "utc",
    };
  } catch {
    return FIRST_LOOK;
  }
}

export function storedLook(): Look {
  try {
    return lookFrom(localStorage.getItem(STORED));
  } catch {
    return FIRST_LOOK;
  }
}

export function storeLook(look: Look): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(look));
  } catch {
    // Where nothing may be stored, it lasts as long as the page.
  }
}

/** What the address of the page asks for, as far as it can be had, and the pair that cannot. */
export function selectionFrom(
  search: string,
  { pairs, timeframes, currencies, first }: Choices,
): { readonly selection: Selection; readonly unknownPair?: string } {
  const asked = new URLSearchParams(search);
  const pick = <T extends string>(name: string, allowed: readonly T[], standard: T): T =>
    allowed.find((one) => one === asked.get(name)) ?? standard;
  const selection = {
    pairAddress: pick("pair", pairs, first.pairAddress),
    timeframe: pick("timeframe", timeframes, first.timeframe),
    currency: pick("currency", currencies, first.currency),
  };
  const pair = asked.get("pair");
  return pair === null || pairs.includes(pair) ? { selection } : { selection, unknownPair: pair };
}

/** A selection as the address of the page has it, which can be passed on. */
export function searchOf({ pairAddress, timeframe, currency }: Selection): string {
  return `?${new URLSearchParams({ pair: pairAddress, timeframe, currency })}`;
}

/** The one after, or before, in a list; the list is a ring. */
export function neighbour<T>(values: readonly T[], value: T, step: 1 | -1): T {
  return values[(values.indexOf(value) + step + values.length) % values.length]!;
}
