import { Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import { throughReducer } from "../../src/operators/through-reducer.js";

describe("throughReducer", () => {
  it("tells all that follows from a value before what a subscriber answers to a part of it", () => {
    const source = new Subject<string>();
    const seen: string[] = [];
    source
      .pipe(throughReducer(() => ({ apply: (name: string) => [1, 2, 3].map((at) => ({ told: name + at })) })))
      .subscribe(({ told }) => {
        seen.push(told);
        if (told === "a1") source.next("b");
        if (told === "b2") source.next("c");
      });
    source.next("a");
    expect(seen).toEqual(["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]);
  });
});
