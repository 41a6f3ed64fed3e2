import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/** Writes a small file, which is whole at any instant: the text is written beside, and put in its place. */
export function writeWhole(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const next = `${path}.next`;
  const file = openSync(next, "w");
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
}

/** Reads such a file as JSON; `empty` where there is none. Throws with `problem` for what is not as `isState` says. */
export function readWhole<T>(
  path: string,
  empty: T,
  isState: (value: unknown) => value is T,
  problem: string,
): T {
  if (!existsSync(path)) return empty;
  let state: unknown;
  try {
    state = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (isState(state)) return state;
  throw new Error(`${path} ${problem}; look at it before you delete it`);
}
