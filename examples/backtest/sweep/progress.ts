import { Presets, SingleBar } from "cli-progress";

/** Shows how far a sweep is, while there is a terminal to show it on. */
export class SweepProgress {
  readonly #bar: SingleBar | undefined;

  constructor(terminal: NodeJS.WriteStream) {
    const options = {
      format: "{bar} {value} of {total} sets of parameters, {eta_formatted} left",
      stream: terminal,
      hideCursor: true,
      barsize: 20,
      clearOnComplete: true,
    };
    this.#bar = terminal.isTTY ? new SingleBar(options, Presets.shades_classic) : undefined;
  }

  show(done: number, of: number): void {
    if (done === 1) this.#bar?.start(of, 0);
    this.#bar?.update(done);
  }

  /** Gives the line back. */
  stop(): void {
    this.#bar?.stop();
  }
}
