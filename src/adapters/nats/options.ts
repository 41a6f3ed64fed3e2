import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkNumber } from "../../contract/input.js";
import { checkMethods, checkNames, checkScheduler } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import type { NatsConnection } from "./nats.js";

/** The names under which feeds are published, and the clock. */
export interface NatsOptions {
  /** The beginning of all names of subjects, streams and buckets: 1 to 32 letters, digits, `_` or `-`; default `"pairstream"`. */
  name?: string;
  /** The clock of every timer and every `now()` of this library; default `asyncScheduler`. */
  scheduler?: SchedulerLike;
}

/** How the streams that keep what is published are set up. */
export interface StreamOptions extends NatsOptions {
  /** The number of nodes of a cluster that keep each message, 1 to 5; default 1, or what the stream has already. */
  replicas?: number;
  /**
   * How long a candle is kept after it last changed, in ms, from 1,000 to 9e12; default: forever, or what the stream has already.
   * Candles that can still change are kept as long as somebody publishes them.
   */
  retention?: number;
}

/** Options, checked and complete. */
export interface NatsSettings {
  readonly name: string;
  readonly scheduler: SchedulerLike;
  readonly replicas: number | undefined;
  readonly retention: number | undefined;
}

/** Servers count it in ns, with 63 bits. */
const RETENTION = { min: 1_000, max: 9e12, unit: "ms" };
const NAME = /^[A-Za-z0-9_-]{1,32}$/;

/** Checks options, which may be `name` and those in `more`. Throws an `InvalidInputError`. */
export function checkNatsOptions(options: StreamOptions, more: readonly string[]): NatsSettings {
  checkNames(options, ["name", ...more]);
  const { name = "pairstream", scheduler = asyncScheduler, replicas, retention } = options;
  checkName("name", name);
  checkScheduler(scheduler);
  if (replicas !== undefined) checkNumber("replicas", replicas, { min: 1, max: 5, integer: true });
  if (retention !== undefined) checkNumber("retention", retention, RETENTION);
  return { name, scheduler, replicas, retention };
}

export function checkGroup(group = "default"): string {
  checkName("group", group);
  return group;
}

function checkName(parameter: string, name: string): void {
  if (typeof name === "string" && NAME.test(name)) return;
  throw new InvalidInputError(parameter, "1 to 32 letters, digits, _ or -", "is not such a text");
}

export function checkConnection(connection: NatsConnection): void {
  const allowed = "a connection of @nats-io/transport-node or another transport";
  checkMethods("connection", allowed, connection, ["subscribe", "request", "isClosed"]);
}
