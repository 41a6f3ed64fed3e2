import { show } from "./contract/input.js";

/** Describes what was given in place of an object of another shape, by the names of its fields. */
export function showFields(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  const names = typeof value === "object" ? Object.keys({ ...value }).slice(0, 8) : [];
  return names.length > 0 ? `an object with ${names.join(", ")}` : show(value);
}
