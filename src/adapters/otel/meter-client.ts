import type { Attributes, AttributeValue, Meter, ObservableCallback } from "@opentelemetry/api";
import { Subscription } from "rxjs";
import type { ClientActivity } from "../../client/activity.js";
import { type Client, type ClientCore, coreOf } from "../../client/core.js";
import type { Told } from "../../client/metering.js";
import { checkFlag, show } from "../../contract/input.js";
import { checkNames, namesOf } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import {
  ATTRIBUTE_NAMES,
  errorAttributes,
  feedAttributes,
  outcomeAttributes,
  pairOf,
  routeAttributes,
  serverAttributes,
} from "./attributes.js";
import { closingsLateBy } from "./closings.js";
import { type Instruments, instrumentsOf } from "./instruments.js";
import { PresentCounts } from "./present.js";

/** What the measurements of a client carry. */
export interface MeterOptions {
  /**
   * Attributes of every measurement, such as `{ key: "a" }`: they distinguish several clients on one meter. Values are
   * strings, numbers or booleans; names that the metrics use themselves are refused. Default: none.
   */
  attributes?: Attributes;
  /**
   * Whether measurements that belong to one pair carry its address, as `pairstream.pair`. Each pair then has time series
   * of its own in the place that keeps the metrics. Default: false.
   */
  pairs?: boolean;
}

const NAMES = namesOf<MeterOptions>({ attributes: true, pairs: true });
const STATES = ["starting", "live", "stalled"] as const;

/**
 * Measures a client with the instruments of an OpenTelemetry meter, until it is unsubscribed: requests, retries, units,
 * its quota, its polls, the candles that they find and how late these close; and what collectors do that work with it.
 *
 * It sets no timer and sends nothing. What happened before the call is not counted. Two clients on one meter need
 * `attributes` that differ, or their gauges overwrite each other. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { MeterProvider } from "@opentelemetry/sdk-metrics";
 * import { createClient } from "pairstream";
 * import { meterClient } from "pairstream/otel";
 *
 * const provider = new MeterProvider();
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const metering = meterClient(client, provider.getMeter("pairstream"));
 * process.once("SIGTERM", () => metering.unsubscribe());
 * ```
 */
export function meterClient(client: Client, meter: Meter, options: MeterOptions = {}): Subscription {
  const core = coreOf(client);
  checkMeter(meter);
  checkNames(options, NAMES);
  const attributes = checkAttributes(options.attributes);
  const isByPair = checkFlag("pairs", options.pairs);
  const instruments = instrumentsOf(meter);
  const records = new Recorder(core, instruments, attributes, isByPair);
  const metering = new Subscription();
  records.begin();
  metering.add(client.activity.subscribe((activity) => records.take(activity)));
  metering.add(core.metering.told.subscribe((told) => records.hear(told)));
  for (const [name, look] of Object.entries(records.looks) as [
    keyof Recorder["looks"],
    ObservableCallback,
  ][]) {
    instruments[name].addCallback(look);
    metering.add(() => instruments[name].removeCallback(look));
  }
  return metering;
}

/** Turns what happens into measurements. */
class Recorder {
  readonly #core: ClientCore;
  readonly #instruments: Instruments;
  readonly #attributes: Attributes;
  readonly #isByPair: boolean;
  readonly #server: Attributes;
  readonly #feeds = new PresentCounts();
  readonly #leading = new PresentCounts();

  constructor(core: ClientCore, instruments: Instruments, attributes: Attributes, isByPair: boolean) {
    this.#core = core;
    this.#instruments = instruments;
    this.#attributes = attributes;
    this.#isByPair = isByPair;
    this.#server = serverAttributes(core.service);
  }

  /**
   * Sets counters to 0. Of one that appears with its first event, a query for an increase would never see that event.
   */
  begin(): void {
    const { throttlings, clockJumps, droppedRows, storeFailures } = this.#instruments;
    for (const reason of ["rate-limit", "too-many-requests"]) {
      throttlings.add(0, { ...this.#attributes, "pairstream.throttling.reason": reason });
    }
    clockJumps.add(0, this.#attributes);
    if (!this.#isByPair) droppedRows.add(0, this.#attributes);
    if (this.#core.store !== undefined) {
      for (const operation of ["read", "write", "forget"]) {
        storeFailures.add(0, { ...this.#attributes, "pairstream.store.operation": operation });
      }
    }
    for (const { group } of this.#core.metering.collectors) this.#beginGroup(group);
  }

  #beginGroup(group: string): void {
    const { handOvers, messages, troubles } = this.#instruments;
    const attributes = { ...this.#attributes, "pairstream.collector.group": group };
    for (const change of ["taken", "given-up"]) {
      handOvers.add(0, { ...attributes, "pairstream.handover.change": change });
    }
    for (const outcome of ["stored", "retried"]) {
      messages.add(0, { ...attributes, "pairstream.message.outcome": outcome });
    }
    for (const what of ["connection", "feed"]) {
      troubles.add(0, { ...attributes, "pairstream.trouble.kind": what });
    }
  }

  take(activity: ClientActivity): void {
    const { duration, bodySize, units, retries, throttlings, clockJumps, droppedRows, storeFailures } =
      this.#instruments;
    switch (activity.type) {
      case "response": {
        const route = { ...routeAttributes(activity.url), ...this.#pair(pairOf(activity.url)) };
        const request = { ...this.#attributes, ...this.#server, ...route, ...outcomeAttributes(activity) };
        duration.record(activity.duration / 1_000, request);
        if (activity.bytes !== undefined) bodySize.record(activity.bytes, request);
        if (activity.weight !== undefined) units.add(activity.weight, { ...this.#attributes, ...route });
        break;
      }
      case "retry":
        retries.add(1, { ...this.#attributes, ...errorAttributes(activity.error) });
        break;
      case "throttled":
        throttlings.add(1, { ...this.#attributes, "pairstream.throttling.reason": activity.reason });
        break;
      case "clock":
        if (activity.jumped) clockJumps.add(1, this.#attributes);
        break;
      case "dropped":
        droppedRows.add(1, { ...this.#attributes, ...this.#pair(pairOf(activity.url)) });
        break;
      case "store":
        storeFailures.add(1, { ...this.#attributes, "pairstream.store.operation": activity.operation });
        break;
    }
  }

  hear(told: Told): void {
    const { candles, lateness, handOvers, messages, troubles } = this.#instruments;
    if (told.type === "candles") {
      const { series, changes } = told;
      const attributes = {
        ...this.#attributes,
        "pairstream.timeframe": series.timeframe,
        ...this.#pair(series.pairAddress),
      };
      for (const { type, status } of changes) {
        candles.add(1, {
          ...attributes,
          "pairstream.candle.change": type,
          "pairstream.candle.status": status,
        });
      }
      for (const lateBy of closingsLateBy(told)) lateness.record(lateBy / 1_000, attributes);
      return;
    }
    const attributes = { ...this.#attributes, "pairstream.collector.group": told.group };
    if (told.type === "collector") this.#beginGroup(told.group);
    else if (told.type === "lease")
      handOvers.add(1, { ...attributes, "pairstream.handover.change": told.change });
    else if (told.type === "message")
      messages.add(1, { ...attributes, "pairstream.message.outcome": told.outcome });
    else troubles.add(1, { ...attributes, "pairstream.trouble.kind": told.what });
  }

  /** What stands when the metrics are read, by the instrument that shows it. */
  readonly looks = {
    quotaLimit: (result) => {
      const balance = this.#core.spending.balance();
      if (balance !== undefined) result.observe(balance.units, this.#attributes);
    },
    quotaRemaining: (result) => {
      const balance = this.#core.spending.balance();
      if (balance !== undefined) result.observe(balance.left, this.#attributes);
    },
    feeds: (result) => {
      this.#feeds.clear();
      for (const poll of this.#core.metering.polls) {
        const feed = {
          ...this.#attributes,
          ...feedAttributes(poll.feed),
          ...this.#pair(poll.feed.pairAddress),
        };
        for (const state of STATES) {
          this.#feeds.add({ ...feed, "pairstream.feed.state": state }, state === poll.state ? 1 : 0);
        }
      }
      for (const [count, attributes] of this.#feeds) result.observe(count, attributes);
    },
    leading: (result) => {
      this.#leading.clear();
      for (const { group, isLeading } of this.#core.metering.collectors) {
        this.#leading.add({ ...this.#attributes, "pairstream.collector.group": group }, isLeading ? 1 : 0);
      }
      for (const [count, attributes] of this.#leading) result.observe(count, attributes);
    },
  } satisfies Partial<Record<keyof Instruments, ObservableCallback>>;

  #pair(pairAddress: string | undefined): Attributes {
    return this.#isByPair && pairAddress !== undefined ? { "pairstream.pair": pairAddress } : {};
  }
}

const MAKERS = [
  "createCounter",
  "createHistogram",
  "createObservableGauge",
  "createObservableUpDownCounter",
] as const;

function checkMeter(meter: Meter): void {
  const isMeter = typeof meter === "object" && meter !== null;
  if (isMeter && MAKERS.every((name) => typeof meter[name] === "function")) return;
  throw new InvalidInputError("meter", "a Meter of @opentelemetry/api", `is ${show(meter)}`);
}

function checkAttributes(attributes: Attributes | undefined): Attributes {
  if (attributes === undefined) return {};
  if (typeof attributes !== "object" || attributes === null || Array.isArray(attributes)) {
    throw new InvalidInputError("attributes", "an object of attributes", `is ${show(attributes)}`);
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "" || ATTRIBUTE_NAMES.includes(name)) {
      throw new InvalidInputError("attributes", "names that the metrics do not use", `has ${show(name)}`);
    }
    if (!isValue(value)) {
      throw new InvalidInputError(
        `attributes.${name}`,
        "a string, a finite number or a boolean",
        `is ${show(value)}`,
      );
    }
  }
  return { ...attributes };
}

function isValue(value: AttributeValue | undefined): boolean {
  return typeof value === "number" ? Number.isFinite(value) : ["string", "boolean"].includes(typeof value);
}
