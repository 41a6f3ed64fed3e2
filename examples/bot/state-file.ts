import { readWhole, writeWhole } from "../terminal/whole-file.js";
import type { BotState, SeriesState, Store } from "./trader.js";

/** Keeps the state in a small file, which is whole at any instant. */
export function stateFile(path: string): Store {
  return {
    read: () => readWhole<BotState>(path, {}, isState, "does not hold the state of this bot"),
    write: (state) => writeWhole(path, JSON.stringify(state, null, 2)),
  };
}

function isState(value: unknown): value is BotState {
  return typeof value === "object" && value !== null && Object.values(value).every(isSeriesState);
}

function isSeriesState(value: unknown): value is SeriesState {
  const { actedOn, position } = (value ?? {}) as Partial<SeriesState>;
  const numbers = [actedOn, ...(position === undefined ? [] : [position.price, position.quantity])];
  return numbers.every(Number.isFinite);
}
