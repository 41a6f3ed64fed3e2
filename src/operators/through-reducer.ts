import { defer, filter, finalize, map, merge, type OperatorFunction, Subject } from "rxjs";

/** Takes one value after another, and says what follows from each. */
export interface Reducer<In, Out> {
  apply(value: In): readonly Out[];
}

/**
 * Emits, for every value, what a reducer makes of it, in order and at once; each subscription has a reducer
 * of its own. What the reducer throws is the stream's error.
 */
export function throughReducer<In, Out extends object>(
  makeReducer: () => Reducer<In, Out>,
): OperatorFunction<In, Out> {
  return (source) =>
    defer(() => {
      const reducer = makeReducer();
      // Nearly always there is one result: it takes the short way, and only those before it the other one.
      const earlier = new Subject<Out>();
      const lastOf = (value: In): Out | undefined => {
        const results = reducer.apply(value);
        const last = results.length - 1;
        for (let at = 0; at < last; at += 1) earlier.next(results[at]!);
        return results[last];
      };
      const lasts = source.pipe(
        map(lastOf),
        filter((result) => result !== undefined),
        finalize(() => earlier.complete()),
      );
      return merge(earlier, lasts);
    });
}
