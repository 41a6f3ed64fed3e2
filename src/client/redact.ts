/** Keeps one secret out of texts and errors. */
export interface Redactor {
  /** The text with `[key]` wherever it holds the secret, escaped forms of it included. */
  text(text: string): string;
  /** The value itself where it cannot hold the secret, else a plain error with its name and redacted message. */
  cause(cause: unknown): unknown;
}

/** A shorter key is no secret, and replacing it everywhere would wreck every message. */
const SHORTEST = 4;
/** How deep in a cause is looked; what lies deeper counts as unsafe. */
const DEEPEST = 5;

export function redactorOf(secret: string): Redactor {
  if (secret.replaceAll("\\", "").length < SHORTEST) return { text: (text) => text, cause: (cause) => cause };
  const forms = new RegExp(formsOf(secret).map(patternOf).join("|"), "g");
  const text = (value: string) => value.replace(forms, "[key]");
  const isSafe = (value: string) => text(value) === value;
  return {
    text,
    cause: (cause) => (isPlainlySafe(cause, isSafe, DEEPEST) ? cause : plainError(cause, text)),
  };
}

/** The secret as it is, and as URLs, HTML and careful JSON escape it; longest first, as one may begin another. */
function formsOf(secret: string): string[] {
  const inForm = new URLSearchParams({ "": secret }).toString().slice(1);
  const inUrl = [encodeURI(secret), encodeURIComponent(secret), inForm];
  const forms = [
    secret,
    ...inUrl,
    ...inUrl.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    ...inUrl.map((form) => encodeURIComponent(form)),
    ...[/[&<>]/g, /[&<>"]/g, /[&<>"']/g].map((marks) => secret.replace(marks, (mark) => HTML[mark]!)),
    secret.replace(/[&<>]/g, (mark) => `u00${mark.charCodeAt(0).toString(16)}`),
  ];
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

const HTML: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Matches a form with any backslashes in between, which JSON adds, and JSON within JSON adds again. */
function patternOf(form: string): string {
  const characters = [...form.replaceAll("\\", "")];
  return characters.map((character) => character.replace(/\W/, "\\$&")).join("\\\\*");
}

/** Whether all that can be reached from a value is texts without the secret, numbers, and plain containers of them. */
function isPlainlySafe(value: unknown, isSafe: (text: string) => boolean, depth: number): boolean {
  if (typeof value === "string") return isSafe(value);
  if (typeof value === "function") return false;
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  try {
    if (!(value instanceof Error) && !isPlainContainer(value)) return false;
    const keys = Reflect.ownKeys(value);
    const held = keys.map((key): unknown => Reflect.get(value, key));
    if (value instanceof Error) held.push(value.name, value.message, value.stack);
    return [...keys, ...held].every((part) => isPlainlySafe(part, isSafe, depth - 1));
  } catch {
    return false;
  }
}

function isPlainContainer(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === Array.prototype;
}

function plainError(cause: unknown, redact: (text: string) => string): Error {
  try {
    const { name, message } = cause instanceof Error ? cause : { name: "Error", message: String(cause) };
    const error = new Error(redact(String(message)));
    error.name = redact(String(name));
    return error;
  } catch {
    return new Error("an error that cannot be read");
  }
}
