import type { FeedStatus } from "../../feed-status.js";
import { writeStatus } from "./wire.js";

/** The messages of statuses, each written once for all who get it. */
export class StatusTexts {
  readonly #texts = new WeakMap<FeedStatus, { readonly [name in "status" | "waiting"]?: string }>();

  of(name: "status" | "waiting", status: FeedStatus): string {
    const known = this.#texts.get(status) ?? {};
    const text = known[name] ?? writeStatus(name, status);
    this.#texts.set(status, { ...known, [name]: text });
    return text;
  }
}
