import { InvalidInputError } from "../../errors.js";
import type { SecretFinder } from "./find-secret.js";
import { type SessionRequest, STALE } from "./transport.js";

/** Gives the key of a request. */
export type KeyFunction = () => string | Promise<string>;

/** The checked key. Errors do not show it. */
export function checkApiKey(value: unknown, parameter = "apiKey"): string {
  if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) return value;
  const problem =
    typeof value !== "string"
      ? `is of type ${typeof value}${value === undefined ? " (is its variable set?)" : ""}`
      : value === ""
        ? "is empty"
        : /\s/.test(value)
          ? "holds a space or a line break (trim it)"
          : "holds characters beyond ASCII";
  const allowed = "one or more visible ASCII characters, without spaces";
  const more = parameter === "apiKey" ? ", or a function that returns them" : "";
  throw new InvalidInputError(parameter, allowed + more, problem);
}

/** How many keys are looked for in texts, besides those of requests under way. */
const KEPT_KEYS = 16;

/** The key of one request, which is yet to be given. */
export interface KeyTurn extends Required<Pick<SessionRequest, "key">> {
  /** Its place among the calls of the function. */
  readonly number: number;
  /** The request has ended. */
  end(): void;
}

/** A call of the function; made when the first request needs its key. */
interface Call {
  readonly number: number;
  key: Promise<string> | undefined;
}

/** The keys that a function gives, one for each request. */
export class Keys {
  readonly #give: KeyFunction;
  readonly #finder: SecretFinder;
  /** How many requests under way have each key; the one that was given last is the last one. */
  readonly #uses = new Map<string, number>();
  #calls = 0;
  #renewal: Call | undefined;

  /** The finder gets to know every key before it is used. */
  constructor(give: KeyFunction, finder: SecretFinder) {
    this.#give = give;
    this.#finder = finder;
  }

  /**
   * The key of the next request. `refused`: the number of a key that the service has refused; all whose key is as old get
   * the same new one. `isPaused`: whether nothing may be sent just now.
   */
  next(refused: number | undefined, isPaused: () => boolean): KeyTurn {
    const call = this.#callAfter(refused);
    let held: string | undefined;
    let hasEnded = false;
    return {
      number: call.number,
      key: async () => {
        call.key ??= this.#call();
        const key = await call.key;
        if (hasEnded) throw new Error("the request has ended");
        if (isPaused()) throw Object.assign(new Error("a 429 came before it"), { [STALE]: true });
        this.#count(key, 1);
        held = key;
        return key;
      },
      end: () => {
        hasEnded = true;
        if (held !== undefined) this.#count(held, -1);
      },
    };
  }

  #callAfter(refused: number | undefined): Call {
    if (refused !== undefined && this.#renewal !== undefined && this.#renewal.number > refused)
      return this.#renewal;
    this.#calls += 1;
    const call: Call = { number: this.#calls, key: undefined };
    if (refused !== undefined) this.#renewal = call;
    return call;
  }

  async #call(): Promise<string> {
    const key = checkApiKey(await this.#give(), "apiKey()");
    this.#count(key, 0);
    return key;
  }

  #count(key: string, more: number): void {
    const uses = this.#uses.get(key);
    if (uses === undefined) this.#finder.add(key);
    if (more === 0) this.#uses.delete(key);
    this.#uses.set(key, (uses ?? 0) + more);
    for (const [old, count] of this.#uses) {
      if (this.#uses.size <= KEPT_KEYS) return;
      if (count > 0 || old === key) continue;
      this.#uses.delete(old);
      this.#finder.remove(old);
    }
  }
}
