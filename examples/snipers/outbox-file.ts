import { readWhole, writeWhole } from "../terminal/whole-file.js";
import type { Alert } from "./alerts.js";
import type { Letter, OutboxFile, OutboxState } from "./outbox.js";

const EMPTY: OutboxState = { looks: {}, waiting: [], ids: [] };

/** Keeps an outbox in a file, which is whole at any instant. */
export function outboxFile(path: string): OutboxFile {
  return {
    read: () => readWhole(path, EMPTY, isState, "is no outbox of this program"),
    write: (state) => writeWhole(path, JSON.stringify(state)),
  };
}

/** The looks are checked by those who go on from them. */
function isState(value: unknown): value is OutboxState {
  if (!isObject<OutboxState>(value)) return false;
  const { looks, waiting, ids } = value;
  return (
    isObject(looks) &&
    Array.isArray(waiting) &&
    waiting.every(isLetter) &&
    Array.isArray(ids) &&
    ids.every((id) => typeof id === "string")
  );
}

function isLetter(value: unknown): boolean {
  if (!isObject<Letter>(value) || typeof value.to !== "string") return false;
  return isObject<Alert>(value.alert) && typeof value.alert.id === "string";
}

function isObject<T>(value: unknown): value is { readonly [field in keyof T]?: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
