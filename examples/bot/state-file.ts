import { existsSync, readFileSync } from "node:fs";
import { writeWhole } from "../terminal/whole-file.js";
import type { BotState, SeriesState, Store } from "./trader.js";

/** Keeps the state in a small file, which is whole at any instant. */
export function stateFile(path: string): Store {
  return {
    read: () => (existsSync(path) ? checkState(path, readFileSync(path, "utf8")) : {}),
    write: (state) => writeWhole(path, JSON.stringify(state, null, 2)),
  };
}

function checkState(path: string, text: string): BotState {
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    state = undefined;
  }
  const isState = typeof state === "object" && state !== null && Object.values(state).every(isSeriesState);
  if (!isState)
    throw new Error(`${path} does not hold the state of this bot; look at it before you delete it`);
  return state as BotState;
}

function isSeriesState(value: unknown): value is SeriesState {
  const { actedOn, position } = (value ?? {}) as Partial<SeriesState>;
  const numbers = [actedOn, ...(position === undefined ? [] : [position.price, position.quantity])];
  return numbers.every(Number.isFinite);
}
