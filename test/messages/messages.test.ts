import { describe, expect, it } from "vitest";
import { InvalidInputError, isPairstreamError } from "../../src/index.js";
import { CAUSES } from "./causes.js";
import { KEY, messageOf } from "./provoke.js";

describe("a message that a user can meet", () => {
  it.each(CAUSES.map((one) => [one.cause, one] as const))("%s", async (_, { shows, provoke }) => {
    const error = await messageOf(provoke);
    if (!isPairstreamError(error)) throw new Error(`provokes ${String(error)}`);
    const { message } = error;
    expect(message).not.toMatch(/\[object|^\s*$|; allowed: *$/);
    expect(message).not.toContain(KEY);
    expect(message.split("\n")).toHaveLength(1);
    if (typeof shows === "string") expect(message).toContain(shows);
    if (!(error instanceof InvalidInputError)) return;
    const { parameter, allowed } = error;
    expect(message.startsWith(`${parameter} `)).toBe(true);
    expect(message.endsWith(`; allowed: ${allowed}`)).toBe(true);
    expect(allowed.length).toBeGreaterThan(3);
    const problem = message.slice(parameter.length + 1, message.length - `; allowed: ${allowed}`.length);
    expect(problem.length).toBeGreaterThan(3);
  });
});
