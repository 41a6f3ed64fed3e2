/**
 * An object that `await using` can close. If the program's types lack `Symbol.asyncDispose`, as those of ES2023 do, it
 * adds nothing: it declares no global name.
 */
export type Closing = SymbolConstructor extends { readonly asyncDispose: infer Name extends symbol }
  ? { readonly [N in Name]: () => Promise<void> }
  : object;

/** Freezes `closeable`. `await using` calls its `close` where the platform has `Symbol.asyncDispose`. */
export function closing<T extends { close(): void | Promise<void> }>(closeable: T): Readonly<T> & Closing {
  const { asyncDispose }: { readonly asyncDispose?: symbol } = Symbol;
  if (asyncDispose !== undefined) {
    Object.defineProperty(closeable, asyncDispose, { value: async () => closeable.close() });
  }
  return Object.freeze(closeable) as Readonly<T> & Closing;
}
