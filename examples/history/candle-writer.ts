import { once } from "node:events";
import { createWriteStream, fstatSync, statSync } from "node:fs";
import { finished } from "node:stream/promises";
import type { Candle } from "pairstream";
import { type LineFormat, NDJSON } from "./formats.js";

/** So many bytes wait for a slow disk or reader at most, before the download waits too. */
const ROOM = 1_048_576;
const STANDARD_OUTPUT = 1;

/** Writes candles, a line each, to the end of a file or to standard output. */
export class CandleWriter {
  /** Rejects when nothing can be written any more, with the reason. */
  readonly failed: Promise<never>;
  readonly #stream: NodeJS.WritableStream & {
    readonly writableNeedDrain: boolean;
    readonly writableLength: number;
  };
  readonly #isOwn: boolean;
  readonly #format: LineFormat;

  constructor(file: string | undefined, format = NDJSON) {
    this.#format = format;
    this.#isOwn = file !== undefined || !isPipe(STANDARD_OUTPUT);
    // Node waits for a pipe that does not take more, for a file or a device this stream does.
    const target = file === undefined ? { fd: STANDARD_OUTPUT, autoClose: false } : { flags: "a" };
    this.#stream = this.#isOwn ? createWriteStream(file ?? "", target) : process.stdout;
    this.failed = once(this.#stream, "error").then(([error]) => Promise.reject(error));
    this.failed.catch(() => {});
    const isEmpty = file === undefined || !statSync(file, { throwIfNoEntry: false })?.size;
    if (isEmpty && format.header !== "") this.#stream.write(format.header);
  }

  write(candle: Candle): void {
    this.#stream.write(this.#format.lineOf(candle));
  }

  get isFull(): boolean {
    return this.#stream.writableLength > ROOM;
  }

  /** Waits until there is room again. */
  async drained(): Promise<void> {
    if (this.#stream.writableNeedDrain) await Promise.race([once(this.#stream, "drain"), this.failed]);
  }

  /** Waits until all is written. */
  async end(): Promise<void> {
    if (this.#isOwn) {
      this.#stream.end();
      await finished(this.#stream);
    } else {
      // Standard output cannot be ended.
      const flushed = new Promise<void>((resolve) => this.#stream.write("", () => resolve()));
      await Promise.race([flushed, this.failed]);
    }
  }
}

function isPipe(descriptor: number): boolean {
  const stat = fstatSync(descriptor);
  return stat.isFIFO() || stat.isSocket();
}
