import { NEVER, of, Subject, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import { InvalidInputError, PairstreamError } from "../../src/errors.js";
import { toAsyncIterable } from "../../src/operators/to-async-iterable.js";

async function read<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const value of iterable) seen.push(value);
  return seen;
}

describe("toAsyncIterable", () => {
  it("gives all in order, ends with the stream, and subscribes for each loop", async () => {
    const values = toAsyncIterable(of(1, 2, 3));
    expect(await read(values)).toEqual([1, 2, 3]);
    expect(await read(values)).toEqual([1, 2, 3]);
    await expect(read(toAsyncIterable(throwError(() => "lost")))).rejects.toBe("lost");
  });

  it("answers those who wait, and keeps what nobody has read", async () => {
    const source = new Subject<number>();
    const reading = toAsyncIterable(source)[Symbol.asyncIterator]();
    const [first, second] = [reading.next(), reading.next()];
    for (const value of [1, 2, 3, 4]) source.next(value);
    source.complete();
    expect([await first, await second].map(({ value }) => value)).toEqual([1, 2]);
    expect([await reading.next(), await reading.next(), await reading.next()]).toEqual([
      { done: false, value: 3 },
      { done: false, value: 4 },
      { done: true, value: undefined },
    ]);
  });

  it("leaves the stream with the loop, and throws what ended it once", async () => {
    const source = new Subject<number>();
    const reading = toAsyncIterable(source)[Symbol.asyncIterator]();
    const waiting = [reading.next(), reading.next()];
    await reading.return!();
    expect(source.observed).toBe(false);
    expect((await Promise.all(waiting)).map(({ done }) => done)).toEqual([true, true]);
    const failing = toAsyncIterable(throwError(() => "lost"))[Symbol.asyncIterator]();
    await expect(failing.next()).rejects.toBe("lost");
    expect(await failing.next()).toEqual({ done: true, value: undefined });
  });

  it("leaves the stream where more than the buffer wait, and says so after them", async () => {
    const source = new Subject<number>();
    const reading = toAsyncIterable(source, { buffer: 2 })[Symbol.asyncIterator]();
    for (const value of [1, 2, 3]) source.next(value);
    expect(source.observed).toBe(false);
    expect([await reading.next(), await reading.next()].map(({ value }) => value)).toEqual([1, 2]);
    const error = await reading.next().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PairstreamError);
    expect(String(error)).toContain("More than 2 events");
    const many = Array.from({ length: 10 }, (_, at) => at);
    expect(await read(toAsyncIterable(of(...many), { buffer: 10 }))).toEqual(many);
  });

  it("throws the signal's reason, whether it comes before or after", async () => {
    const early = AbortSignal.abort("stop");
    await expect(read(toAsyncIterable(NEVER, { signal: early }))).rejects.toBe("stop");
    const controller = new AbortController();
    const source = new Subject<number>();
    const reading = toAsyncIterable(source, { signal: controller.signal })[Symbol.asyncIterator]();
    const waiting = reading.next();
    controller.abort("later");
    await expect(waiting).rejects.toBe("later");
    expect(source.observed).toBe(false);
  });

  it.each([{ buffer: 0 }, { buffer: 1.5 }, { bufer: 5 }])("refuses %o at the call", (options) => {
    expect(() => toAsyncIterable(NEVER, options as object)).toThrow(InvalidInputError);
  });
});
