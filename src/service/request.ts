import { parseIsoInstant } from "../contract/iso-instant.js";
import type { Network } from "../contract/model.js";

/** The pair and the operation of a request. */
export interface Route {
  readonly operation: "ohlcv" | "snipers";
  readonly network: Network;
  readonly pairAddress: string;
}

/** The largest `Date`, ms. */
export const LATEST_DATE = 8.64e15;

const ROUTE = /\/token\/(mainnet|devnet)\/pairs\/([^/]+)\/(ohlcv|snipers)$/;

export function splitUrl(url: string): { path: string; parameters: URLSearchParams } {
  const [, path = "", query] = /^(?:[a-z][a-z\d+.-]*:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? [];
  return { path, parameters: new URLSearchParams(query ?? "") };
}

/** Parses a path; `undefined` if the contract has no such path. */
export function readRoute(path: string): Route | undefined {
  const [, network, address, operation] = ROUTE.exec(path) ?? [];
  if (address === undefined || (operation === "snipers" && network !== "mainnet")) return undefined;
  try {
    return {
      operation: operation as Route["operation"],
      network: network as Network,
      pairAddress: decodeURIComponent(address),
    };
  } catch {
    return undefined;
  }
}

/** Thrown by a handler to answer with a status other than 200. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly answer: string | string[],
  ) {
    super(String(answer));
  }
}

/** Reads the parameters of a query and collects all problems, so one answer names them all. */
export class ParameterReader {
  readonly problems: string[] = [];

  constructor(private readonly parameters: URLSearchParams) {}

  optional(name: string): string | undefined {
    const values = this.parameters.getAll(name);
    if (values.length > 1) this.problems.push(`${name} must be given once`);
    return values[0];
  }

  choice<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.optional(name) as T;
    if (!choices.includes(value)) this.problems.push(`${name} must be one of ${choices.join(", ")}`);
    return value;
  }

  integer(name: string, { min, max, absent }: { min: number; max: number; absent: number }): number {
    const value = this.optional(name);
    if (value === undefined) return absent;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) {
      this.problems.push(`${name} must be a whole number from ${min} to ${max}`);
    }
    return number;
  }

  /** An instant in ms; `NaN` if it is invalid. */
  date(name: string): number {
    const value = this.optional(name) ?? "";
    const ms = /^\d+(\.\d+)?$/.test(value)
      ? Math.round(Number(value) * 1_000)
      : (parseIsoInstant(value) ?? parseIsoInstant(`${value}Z`) ?? parseIsoInstant(`${value}T00:00:00Z`));
    if (ms !== undefined && ms <= LATEST_DATE) return ms;
    this.problems.push(
      `${name} must be unix seconds, an ISO 8601 date-time (UTC without a zone) or YYYY-MM-DD`,
    );
    return Number.NaN;
  }

  refuseProblems(): void {
    if (this.problems.length > 0) throw new Refusal(400, this.problems);
  }
}
