import type { FetchLike } from "../service.js";

type Answer = Awaited<ReturnType<FetchLike>>;

/** What a cache holds of an answer, and since when by the scheduler, ms. */
export interface CachedAnswer {
  readonly at: number;
  readonly type: string | null;
  readonly body: string;
}

const LONGEST = 1_000;
const MOST = 100;

/** The answers of the last second with status 200, by their URL, the newest of each. */
export class AnswerCache {
  readonly #answers = new Map<string, CachedAnswer>();

  find(url: string, now: number): CachedAnswer | undefined {
    for (const [known, { at }] of this.#answers) {
      const age = now - at;
      if (!(age >= 0 && age <= LONGEST)) this.#answers.delete(known);
    }
    return this.#answers.get(url);
  }

  /** The same answer, which is kept as soon as its body is read. */
  keeping(url: string, at: number, answer: Answer): Answer {
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
