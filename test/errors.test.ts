import { describe, expect, expectTypeOf, it, vi } from "vitest";
import {
  type AnyPairstreamError,
  AuthenticationError,
  ContractError,
  HttpError,
  InvalidInputError,
  isPairstreamError,
  NetworkError,
  PairstreamError,
  type PairstreamErrorName,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "../src/errors.js";
import type { ClientActivity, FeedStatus } from "../src/index.js";

const cause = new Error("beneath");

describe.each([
  ["PairstreamError", new PairstreamError("m", { cause }), [PairstreamError]],
  ["HttpError", new HttpError("m", 500, "b", { cause }), [HttpError]],
  [
    "AuthenticationError",
    new AuthenticationError("m", 403, "b", { cause }),
    [AuthenticationError, HttpError],
  ],
  ["QuotaExceededError", new QuotaExceededError("m", "b", 5, { cause }), [QuotaExceededError]],
  ["RateLimitError", new RateLimitError("m", "b", 5, { cause }), [RateLimitError, HttpError]],
  ["TimeoutError", new TimeoutError("m", 10, { cause }), [TimeoutError]],
  ["NetworkError", new NetworkError("m", { cause }), [NetworkError]],
  ["ContractError", new ContractError(["result", 3, "open"], "m", { cause }), [ContractError]],
  ["InvalidInputError", new InvalidInputError("limit", "1", "m", { cause }), [InvalidInputError]],
])("%s", (name, error, classes) => {
  it("has its name, a stack that begins with it, and the cause", () => {
    expect(error.name).toBe(name);
    expect(Object.prototype.toString.call(error)).toBe("[object Error]");
    expect(error.cause).toBe(cause);
    expect(String(error)).toBe(`${name}: ${error.message}`);
    expect(error.stack?.split("\n")[0]).toBe(String(error));
  });

  it("is caught as what it is, and as nothing else of the tree", () => {
    const all = [
      AuthenticationError,
      ContractError,
      HttpError,
      InvalidInputError,
      NetworkError,
      QuotaExceededError,
      RateLimitError,
      TimeoutError,
    ];
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(PairstreamError);
    expect(all.filter((one) => error instanceof one)).toEqual(
      all.filter((one) => (classes as unknown[]).includes(one)),
    );
  });
});

describe("what an error tells beside its message", () => {
  it("of an answer: its status and body", () => {
    expect(new HttpError("m", 502, "<html>")).toMatchObject({ message: "m", status: 502, body: "<html>" });
    expect(new AuthenticationError("m", 424, "b")).toMatchObject({ status: 424, body: "b" });
  });

  it("of a rate limit: status 429, and the hint where there is one", () => {
    expect(new RateLimitError("m", "b", 2_000)).toMatchObject({ status: 429, body: "b", retryAfter: 2_000 });
    expect(new RateLimitError("m", "b").retryAfter).toBeUndefined();
  });

  it("of a quota: when units come back, where that is known", () => {
    expect(new QuotaExceededError("m", "b", 5)).toMatchObject({ body: "b", resetsAt: 5 });
    expect(new QuotaExceededError("m").resetsAt).toBeUndefined();
  });

  it("of a timeout: how long it was", () => {
    expect(new TimeoutError("m", 10_000).timeout).toBe(10_000);
  });

  it.each([
    [[], "The answer breaks the contract at its root: odd"],
    [["page"], "The answer breaks the contract at page: odd"],
    [["result", 3, "open"], "The answer breaks the contract at result[3].open: odd"],
    [[0, "open"], "The answer breaks the contract at [0].open: odd"],
  ])("of a broken contract: the path %j", (path, message) => {
    expect(new ContractError(path, "odd")).toMatchObject({ path, issue: "odd", message });
  });

  it("of input: the parameter and what is allowed", () => {
    expect(new InvalidInputError("retry.attempts", "a whole number", "is 1.5")).toMatchObject({
      parameter: "retry.attempts",
      allowed: "a whole number",
      message: "retry.attempts is 1.5; allowed: a whole number",
    });
  });

  it("no cause where there is none", () => {
    expect("cause" in new NetworkError("m")).toBe(false);
  });
});

describe("isPairstreamError", () => {
  it("narrows by the name to what such an error has", () => {
    const told = (error: unknown): unknown => {
      if (!isPairstreamError(error)) return "foreign";
      expectTypeOf(error).toEqualTypeOf<AnyPairstreamError>();
      expectTypeOf<AnyPairstreamError["name"]>().toEqualTypeOf<PairstreamErrorName>();
      switch (error.name) {
        case "HttpError":
        case "AuthenticationError":
          expectTypeOf(error.status).toEqualTypeOf<number>();
          return error.status;
        case "RateLimitError":
          expectTypeOf(error.retryAfter).toEqualTypeOf<number | undefined>();
          return error.retryAfter;
        case "QuotaExceededError":
          expectTypeOf(error.resetsAt).toEqualTypeOf<number | undefined>();
          return error.resetsAt;
        case "TimeoutError":
          return error.timeout;
        case "ContractError":
          expectTypeOf(error.path).toEqualTypeOf<(string | number)[]>();
          return error.issue;
        case "InvalidInputError":
          return error.allowed;
        case "NetworkError":
        case "PairstreamError":
        case "SweepError":
          return error.message;
        default:
          expectTypeOf(error).toBeNever();
          return undefined;
      }
    };
    expect(
      [
        new HttpError("m", 500, ""),
        new AuthenticationError("m", 401, ""),
        new RateLimitError("m", "", 7),
        new QuotaExceededError("m", "", 8),
        new TimeoutError("m", 9),
        new ContractError([], "odd"),
        new InvalidInputError("a", "b", "c"),
        new NetworkError("m"),
        new PairstreamError("n"),
        new Error("o"),
      ].map(told),
    ).toEqual([500, 401, 7, 8, 9, "odd", "b", "m", "n", "foreign"]);
  });

  it("is the type of what a status and an activity tell", () => {
    expectTypeOf<FeedStatus["lastError"]>().toEqualTypeOf<AnyPairstreamError | undefined>();
    type Told = Extract<ClientActivity, { type: "response" | "retry" | "dropped" | "store" }>;
    expectTypeOf<Exclude<Told["error"], undefined>>().toEqualTypeOf<AnyPairstreamError>();
  });

  it("knows the errors of every copy that is loaded, where instanceof does not, and no other", async () => {
    vi.resetModules();
    const other = await import("../src/errors.js");
    const error = new other.TimeoutError("m", 10);
    expect(error).not.toBeInstanceOf(PairstreamError);
    expect([error, new TimeoutError("m", 10), new PairstreamError("m")].map(isPairstreamError)).toEqual([
      true,
      true,
      true,
    ]);
    expect([new Error("m"), { name: "TimeoutError" }, null, undefined, "m"].some(isPairstreamError)).toBe(
      false,
    );
    expect(Object.getOwnPropertySymbols(error)).toEqual([]);
  });

  it("tells its message and its fields in JSON, as a log writes it, and not its cause", () => {
    const inJson = (error: unknown): unknown => JSON.parse(JSON.stringify({ error })).error;
    const error = new RateLimitError("too many", "wait", 2_000, { cause: new Error("key") });
    expect(inJson(error)).toEqual({
      name: "RateLimitError",
      message: "too many",
      status: 429,
      body: "wait",
      retryAfter: 2_000,
    });
    expect(inJson(new ContractError(["result", 3], "odd"))).toEqual({
      name: "ContractError",
      message: expect.stringContaining("odd"),
      path: ["result", 3],
      issue: "odd",
    });
  });
});
