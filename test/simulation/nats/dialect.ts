import type { Packet } from "./jetstream.js";
import { NAME, type OthersPlan } from "./plan.js";

/** How a process speaks on the wire. */
export interface Dialect {
  /** What goes out where the library sends a message. */
  out(packet: Packet): readonly Packet[];
  /** What the library hears where a message comes. */
  in(packet: Packet): Packet;
}

export const OURS: Dialect = { out: (packet) => [packet], in: (packet) => packet };

/** How another version of the package speaks. */
export function dialectOf(others: OthersPlan): Dialect {
  if (others.kind === "additions") return ADDING;
  if (others.kind === "version") return versioned(others.by);
  return OURS;
}

const isStored = (subject: string) =>
  subject.startsWith(`${NAME}.candles.`) || subject.startsWith(`$KV.${NAME}-leases.`);
const isTold = (subject: string) => isStored(subject) || subject.startsWith(`${NAME}.told.`);

/** A version that says more than ours in every message, and stores messages of a kind that ours does not know. */
const ADDING: Dialect = {
  out: (packet) => {
    const { subject, text } = packet;
    const isPulse = subject.startsWith("_INBOX.") && text.startsWith('{"epoch"');
    if (isPulse) return [{ ...packet, text: JSON.stringify(withMore(JSON.parse(text))) }];
    if (!isStored(subject)) return [packet];
    const said = { ...packet, text: JSON.stringify(withMore(JSON.parse(text))) };
    if (!subject.endsWith(".status")) return [said];
    const { version } = JSON.parse(text);
    const kind = { subject: subject.replace(/status$/, "summary"), text: `{"version":${version},"low":1}` };
    return [said, kind];
  },
  in: (packet) => packet,
};

/** The same value, with another field in each object. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, of]) => [key, withMore(of)]);
  return { newer: { note: 1 }, ...Object.fromEntries(entries) };
}

/** The same format under another version, of which each side knows its own alone. */
function versioned(by: number): Dialect {
  const shifted = (text: string, shift: number) => {
    const { version, ...more } = JSON.parse(text);
    return JSON.stringify({ version: version + shift, ...more });
  };
  return {
    out: (packet) => {
      const { subject, text } = packet;
      return [isStored(subject) ? { ...packet, text: shifted(text, by) } : packet];
    },
    in: (packet) => {
      const { subject, text } = packet;
      if (isTold(subject)) return { ...packet, text: shifted(text, -by) };
      if (!text.startsWith('{"message":')) return packet;
      const { message, ...more } = JSON.parse(text);
      if (!isStored(message.subject)) return packet;
      const data = btoa(shifted(atob(message.data), -by));
      return { ...packet, text: JSON.stringify({ message: { ...message, data }, ...more }) };
    },
  };
}
