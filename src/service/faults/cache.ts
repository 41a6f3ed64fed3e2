import type { FetchLike } from "../service.js";

type FetchAnswer = Awaited<ReturnType<FetchLike>>;

/** A cached answer, and the scheduler's time at which it came, ms. */
export interface CachedAnswer {
  readonly at: number;
  readonly type: string | null;
  readonly body: string;
}

const LONGEST_AGE = 1_000;
const MOST = 100;

/** Answers with status 200 of the last second: the newest one per URL. */
export class AnswerCache {
  readonly #answers = new Map<string, CachedAnswer>();

  find(url: string, now: number): CachedAnswer | undefined {
    for (const [known, { at }] of this.#answers) {
      const age = now - at;
      if (!(age >= 0 && age <= LONGEST_AGE)) this.#answers.delete(known);
    }
    return this.#answers.get(url);
  }

  /** Returns the same answer, and caches it once its body is read. */
  keeping(url: string, at: number, answer: FetchAnswer): FetchAnswer {
    if (answer.status !== 200) return answer;
    const text = async () => {
      const body = await answer.text();
      this.#answers.delete(url);
      this.#answers.set(url, { at, type: answer.headers.get("content-type"), body });
      if (this.#answers.size > MOST) this.#answers.delete(this.#answers.keys().next().value!);
      return body;
    };
    return { status: answer.status, headers: answer.headers, text };
  }
}
