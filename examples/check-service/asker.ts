import { type Client, createClient, type FetchLike } from "pairstream";
import type { ServiceOptions } from "./open-service.js";

/** An answer as it came. */
export interface Answer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly text: string;
  /** The JSON; `undefined` where it is none. */
  readonly body: unknown;
  /** When it had come, ms since the epoch by this machine. */
  readonly at: number;
}

/** In ms, as a client's default. */
const PATIENCE = 10_000;

/** Whoever goes on asking after these may lose the key. */
const ENDING = ["AuthenticationError", "QuotaExceededError", "RateLimitError"];

/** The check must not go on: nobody answers, or the key is to blame. */
export class Ending extends Error {}

/** Sends one request after the other, each once, and never more than the budget. */
export class Asker {
  readonly spent = { requests: 0, units: 0 };
  readonly #options: ServiceOptions;
  readonly #client: Client;
  #answer: Answer | undefined;

  constructor(
    options: ServiceOptions,
    private readonly most: number,
    private readonly now: () => number = Date.now,
  ) {
    this.#options = options;
    this.#client = createClient({ ...options, fetch: this.#fetch, retry: false, warn: false });
  }

  /**
   * Asks as the client does, and lets it read the answer. Throws what the client says of a bad one, and an `Ending` where
   * none came, or the key is to blame.
   */
  async read<T>(ask: (client: Client) => Promise<T>): Promise<{ value: T; answer: Answer }> {
    this.#answer = undefined;
    try {
      const value = await ask(this.#client);
      return { value, answer: this.#last()! };
    } catch (error) {
      const isOver = this.#last() === undefined || ENDING.includes((error as Error).name);
      throw isOver ? new Ending((error as Error).message) : error;
    }
  }

  /** Asks what the client never asks; throws an `Ending` if no answer comes, or a 429. */
  async ask(route: string, { withKey = true } = {}): Promise<Answer> {
    const { baseUrl, apiKey } = this.#options;
    const url = `${baseUrl.replace(/\/+$/, "")}${route}`;
    try {
      await this.#fetch(url, {
        method: "GET",
        headers: { accept: "application/json", ...(withKey && { "X-API-Key": apiKey }) },
        redirect: "manual",
        signal: AbortSignal.timeout(PATIENCE),
      });
    } catch (error) {
      throw new Ending(`it got no answer: ${(error as Error).message}`);
    }
    const answer = this.#last()!;
    if (answer.status === 429) throw new Ending("status 429");
    return answer;
  }

  #last(): Answer | undefined {
    return this.#answer;
  }

  readonly #fetch: FetchLike = async (url, init) => {
    if (this.spent.requests >= this.most) throw new Error("the budget is spent");
    this.spent.requests += 1;
    const {
      status,
      headers,
      text: read,
    } = await this.#options.fetch(url, init).then(async (response) => ({
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    }));
    const header = (name: string) => headers.get(name);
    const weight = Number(header("x-request-weight") ?? Number.NaN);
    this.spent.units += Number.isFinite(weight) ? weight : url.includes("/snipers") ? 50 : 150;
    this.#answer = { status, header, text: read, body: parsed(read), at: this.now() };
    return { status, headers, text: async () => read };
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
