import type { AnyTimeframe, Currency, Timeframe } from "pairstream";
import { shortened } from "../../page/figures.js";
import type { Choices, Selection } from "../gateway.js";
import { SWITCHES } from "./indicators.js";
import { type Look, neighbour } from "./settings.js";

/** What the controls of the page do. */
export interface Actions {
  selection(): Selection;
  select(part: Partial<Selection>): void;
  look(): Look;
  setLook(part: Partial<Look>): void;
  toPresent(): void;
  scrollBy(bars: number): void;
  zoomBy(factor: number): void;
}

const ABOUT: Readonly<Record<Currency, string>> = {
  usd: "Prices in US dollars",
  native: "Prices in the coin of the network",
};
const UNITS = { s: "second", min: "minute", h: "hour", d: "day", w: "week", M: "month" } as const;
const NAMES: Readonly<Record<Currency, string>> = { usd: "USD", native: "Native" };
const SHORT: Partial<Record<Timeframe, string>> = {
  ...{ "1min": "1m", "5min": "5m", "10min": "10m", "30min": "30m" },
};
const FAR = 10;

const find = <T extends HTMLElement>(id: string) => document.querySelector<T>(`#${id}`)!;

/** Lets buttons, menu and keys act; the result shows how things stand. */
export function startToolbar({ pairs, timeframes, currencies }: Choices, actions: Actions): () => void {
  const pair = find<HTMLSelectElement>("pair");
  pair.replaceChildren(...pairs.map((address) => new Option(shortened(address, 6), address)));
  pair.disabled = pairs.length < 2;
  pair.addEventListener("change", () => actions.select({ pairAddress: pairs[pair.selectedIndex]! }));
  const chooseTimeframe = group(
    find("timeframes"),
    timeframes,
    (one) => SHORT[one] ?? one,
    lengthOf,
    (timeframe) => actions.select({ timeframe }),
  );
  const chooseCurrency = group(
    find("currencies"),
    currencies,
    (one) => NAMES[one],
    (one) => ABOUT[one],
    (currency) => actions.select({ currency }),
  );

  const menu = find("indicators");
  const menuButton = find<HTMLButtonElement>("indicators-button");
  const boxes = SWITCHES.map(({ id, label, title }) => {
    const row = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: id });
    const about = document.createElement("small");
    about.textContent = title;
    row.append(box, ` ${label} `, about);
    menu.append(row);
    box.addEventListener("change", () => {
      const on = SWITCHES.flatMap((one) => {
        const isOn = one.id === id ? box.checked : actions.look().on.includes(one.id);
        return isOn ? [one.id] : [];
      });
      actions.setLook({ on });
    });
    return [id, box] as const;
  });
  const isMenuOpen = () => !menu.hasAttribute("hidden");
  const openMenu = (isOpen: boolean) => {
    menu.toggleAttribute("hidden", !isOpen);
    menuButton.ariaExpanded = String(isOpen);
    if (isOpen) boxes[0]![1].focus();
  };
  menuButton.addEventListener("click", () => openMenu(!isMenuOpen()));
  addEventListener("pointerdown", ({ target }) => {
    if (isMenuOpen() && !menu.parentElement!.contains(target as Node)) openMenu(false);
  });
  menu.parentElement!.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget !== null && !menu.parentElement!.contains(relatedTarget as Node)) openMenu(false);
  });

  const help = find<HTMLDialogElement>("help");
  const market = find("market");
  const toggleLog = () => actions.setLook({ isLog: !actions.look().isLog });
  const toggleZone = () => actions.setLook({ zone: actions.look().zone === "utc" ? "local" : "utc" });
  const toggleFullscreen = () => {
    const done = document.fullscreenElement === null ? market.requestFullscreen() : document.exitFullscreen();
    // Where it is not allowed the page stays as it is.
    done.catch(() => {});
  };
  const step = (by: 1 | -1) =>
    actions.select({ timeframe: neighbour(timeframes, actions.selection().timeframe, by) });
  const on = (id: string, act: () => void) => find(id).addEventListener("click", act);
  on("log", toggleLog);
  on("zone", toggleZone);
  on("present", () => actions.toPresent());
  on("fullscreen", toggleFullscreen);
  on("help-button", () => help.showModal());
  on("help-close", () => help.close());

  const keys = new Map<string, () => void>([
    [",", () => step(-1)],
    [".", () => step(1)],
    ["p", () => actions.select({ pairAddress: neighbour(pairs, actions.selection().pairAddress, 1) })],
    ["c", () => actions.select({ currency: neighbour(currencies, actions.selection().currency, 1) })],
    ["i", () => openMenu(true)],
    ["l", toggleLog],
    ["u", toggleZone],
    ["t", () => find("theme").click()],
    ["f", toggleFullscreen],
    ["?", () => help.showModal()],
    ["End", () => actions.toPresent()],
    ["ArrowLeft", () => actions.scrollBy(-FAR)],
    ["ArrowRight", () => actions.scrollBy(FAR)],
    ["+", () => actions.zoomBy(1.25)],
    ["-", () => actions.zoomBy(0.8)],
  ]);
  addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    if (key === "Escape" && isMenuOpen()) {
      openMenu(false);
      menuButton.focus();
      return;
    }
    const isTyping = target instanceof HTMLElement && target.matches("select, input, textarea, .scrolled");
    if (ctrlKey || metaKey || altKey || isTyping || help.open) return;
    const act = keys.get(key.length === 1 ? key.toLowerCase() : key);
    if (act === undefined) return;
    event.preventDefault();
    act();
  });

  return () => {
    const { pairAddress, timeframe, currency } = actions.selection();
    pair.value = pairAddress;
    chooseTimeframe(timeframe as Timeframe);
    chooseCurrency(currency);
    const { on, isLog, zone } = actions.look();
    for (const [id, box] of boxes) box.checked = on.includes(id);
    find("log").ariaPressed = String(isLog);
    const zoneButton = find("zone");
    zoneButton.textContent = zone === "utc" ? "UTC" : "Local";
    zoneButton.title = zone === "utc" ? "Times are UTC; show local times" : "Times are local; show UTC";
    find("zone-note").textContent = zone === "utc" ? "Times are UTC" : "Times are those of this machine";
  };
}

/** `One candle is 10 seconds`. */
function lengthOf(timeframe: AnyTimeframe): string {
  const count = Number.parseInt(timeframe, 10);
  const unit = UNITS[timeframe.replace(/^\d+/, "") as keyof typeof UNITS];
  return `One candle is ${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** A row of buttons of which one is pressed; the result presses one. */
function group<T extends string>(
  parent: HTMLElement,
  values: readonly T[],
  name: (value: T) => string,
  about: (value: T) => string,
  onChoose: (value: T) => void,
): (value: T) => void {
  const buttons = values.map((value) => {
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      textContent: name(value),
      title: about(value),
    });
    button.dataset.value = value;
    button.addEventListener("click", () => onChoose(value));
    return button;
  });
  parent.replaceChildren(...buttons);
  return (chosen) => {
    for (const button of buttons) {
      const isChosen = button.dataset.value === chosen;
      button.ariaPressed = String(isChosen);
      if (isChosen && parent.scrollWidth > parent.clientWidth)
        parent.scrollLeft = button.offsetLeft - parent.offsetLeft - parent.clientWidth / 2;
    }
  };
}
