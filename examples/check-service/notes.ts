/** What an answer is: as the contract has it; otherwise, and read all the same; or not as it has to be. */
export type Verdict = "fits" | "kindly" | "wrong" | "not asked";

/** One thing that an answer shows. */
export interface Note {
  readonly verdict: Verdict;
  readonly text: string;
}

export const fits = (text: string): Note => ({ verdict: "fits", text });
export const kindly = (text: string): Note => ({ verdict: "kindly", text });
export const wrong = (text: string): Note => ({ verdict: "wrong", text });
export const unasked = (text: string): Note => ({ verdict: "not asked", text });

const WORST_FIRST: readonly Verdict[] = ["wrong", "not asked", "kindly", "fits"];

/** The worst verdict of some notes. */
export function verdictOf(notes: readonly Note[]): Verdict {
  return WORST_FIRST.find((verdict) => notes.some((note) => note.verdict === verdict)) ?? "fits";
}
