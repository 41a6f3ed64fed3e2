import { existsSync, readFileSync } from "node:fs";
import { writeWhole } from "../terminal/whole-file.js";
import type { OutboxFile, OutboxState } from "./outbox.js";

const EMPTY: OutboxState = { looks: {}, waiting: [], told: [] };

/** Keeps an outbox in a file, which is whole at any instant. */
export function outboxFile(path: string): OutboxFile {
  return {
    read: () => (existsSync(path) ? checkState(path, readFileSync(path, "utf8")) : EMPTY),
    write: (state) => writeWhole(path, JSON.stringify(state)),
  };
}

function checkState(path: string, text: string): OutboxState {
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    state = undefined;
  }
  if (isState(state)) return state;
  throw new Error(`${path} is no outbox of this program; look at it before you delete it`);
}

/** The looks are checked by those who go on from them. */
function isState(value: unknown): value is OutboxState {
  const { looks, waiting, told } = (value ?? {}) as Record<keyof OutboxState, unknown>;
  const isAlert = (alert: unknown) => typeof (alert as { id?: unknown } | null)?.id === "string";
  return (
    [isObject(looks), Array.isArray(waiting), Array.isArray(told)].every(Boolean) &&
    (waiting as unknown[]).every(isAlert) &&
    (told as unknown[]).every((id) => typeof id === "string")
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
