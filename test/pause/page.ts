import { onTestFinished, vi } from "vitest";

/** What a page tells of itself: whether it is seen, and online. */
export class FakePage {
  readonly document = Object.assign(new EventTarget(), { hidden: false });
  readonly navigator = { onLine: true };
  readonly #window = new EventTarget();

  /** Takes the place of the page until the test is over. */
  constructor() {
    vi.stubGlobal("document", this.document);
    vi.stubGlobal("navigator", this.navigator);
    for (const name of ["addEventListener", "removeEventListener"] as const) {
      vi.stubGlobal(name, this.#window[name].bind(this.#window));
    }
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
  }

  hide(hidden = true): void {
    this.document.hidden = hidden;
    this.document.dispatchEvent(new Event("visibilitychange"));
  }

  show(): void {
    this.hide(false);
  }

  disconnect(isOff = true): void {
    this.navigator.onLine = !isOff;
    this.#window.dispatchEvent(new Event(isOff ? "offline" : "online"));
  }
}
