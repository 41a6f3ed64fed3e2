import * as z from "zod/mini";
import { printable } from "../../contract/quote.js";
import {
  type AnyPairstreamError,
  AuthenticationError,
  ContractError,
  HttpError,
  InvalidInputError,
  NetworkError,
  PairstreamError,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "../../errors.js";

/** An error as it is sent: without cause, stack, or body of the service. */
export const wireError = z.object({
  name: z.string(),
  message: z.string(),
  status: z.optional(z.number()),
  retryAfter: z.optional(z.number()),
  resetsAt: z.optional(z.number()),
  timeout: z.optional(z.number()),
  path: z.optional(z.array(z.union([z.string(), z.number()]))),
  issue: z.optional(z.string()),
  said: z.optional(z.string()),
  parameter: z.optional(z.string()),
  allowed: z.optional(z.string()),
});
export type WireError = z.output<typeof wireError>;

/** A `NetworkError` in the words of this library alone, which may leave the process. */
export class PlainNetworkError extends NetworkError {}

/**
 * The parts of an error that may leave the process.
 *
 * What a service, a gateway or a transport has said may hold anything, such as a key, a host, or what a plan costs: of an answer
 * only the status is sent. Messages of foreign errors are not sent either, nor those that are made of one.
 */
export function toWireError(error: unknown): WireError {
  const isForeign = !(error instanceof PairstreamError) || (isPlain(error) && error.cause !== undefined);
  if (isForeign) return { name: "PairstreamError", message: "The source of the stream failed" };
  const { name, message } = error;
  if (error instanceof PlainNetworkError) return { name, message };
  if (error instanceof NetworkError) return { name, message: "The service could not be reached" };
  if (error instanceof HttpError) {
    const { status } = error;
    const { retryAfter } = error as Partial<RateLimitError>;
    const wait = retryAfter === undefined ? {} : { retryAfter };
    return { name, message: `The service answered with status ${status}`, status, ...wait };
  }
  if (error instanceof QuotaExceededError) {
    const { resetsAt } = error;
    const reset = resetsAt === undefined ? {} : { resetsAt };
    return { name, message: "The quota of the gateway is used up", ...reset };
  }
  if (error instanceof TimeoutError) return { name, message, timeout: error.timeout };
  if (error instanceof ContractError) {
    const { path } = error;
    // It quotes what the service has sent in place of what was wanted.
    const issue = error.issue.replace(/["“].*["”]/s, "something else");
    return { name, message: new ContractError(path, issue).message, path, issue };
  }
  if (error instanceof InvalidInputError) {
    return { name, message, parameter: error.parameter, allowed: error.allowed };
  }
  return { name, message };
}

/** Whether it is of no narrower class. */
function isPlain({ name }: PairstreamError): boolean {
  return name === "PairstreamError";
}

/** An error of the same class, with the same name, message and fields. Its stack begins here. */
export function fromWireError(wire: WireError): AnyPairstreamError {
  const { status = 0 } = wire;
  const message = printable(wire.message);
  switch (wire.name) {
    case "HttpError":
      return new HttpError(message, status, "");
    case "AuthenticationError":
      return new AuthenticationError(message, status, "");
    case "QuotaExceededError":
      return new QuotaExceededError(message, "", wire.resetsAt);
    case "RateLimitError":
      return new RateLimitError(message, "", wire.retryAfter);
    case "TimeoutError":
      return new TimeoutError(message, wire.timeout ?? 0);
    case "NetworkError":
      return new NetworkError(message);
    case "ContractError":
      return new ContractError(
        (wire.path ?? []).map((key) => (typeof key === "string" ? printable(key) : key)),
        printable(wire.issue ?? message),
        { said: wire.said && printable(wire.said) },
      );
    case "InvalidInputError": {
      const [parameter, allowed] = [printable(wire.parameter ?? ""), printable(wire.allowed ?? "")];
      const end = message.length - `; allowed: ${allowed}`.length;
      return new InvalidInputError(parameter, allowed, message.slice(parameter.length + 1, end));
    }
    default:
      return new PairstreamError(message) as AnyPairstreamError;
  }
}
