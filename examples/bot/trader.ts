import type { Series } from "pairstream";
import type { Log } from "./log.js";
import type { Order, Position } from "./strategy.js";

/** What came of an order. */
export interface Fill {
  readonly price: number;
  readonly quantity: number;
}

/** Carries an order out; rejects where it is not known to have been. */
export type Broker = (order: Order, position: Position | undefined) => Promise<Fill>;

/** What is known of one series. */
export interface SeriesState {
  /** The timestamp of the candle that was last acted on. */
  readonly actedOn: number;
  readonly position?: Position;
  /** An order of which it is not known what came of it. */
  readonly pending?: Order;
}

/** By `keyOf`. */
export type BotState = Readonly<Record<string, SeriesState>>;

export interface Store {
  read(): BotState;
  write(state: BotState): void;
}

export const keyOf = ({ pairAddress, timeframe }: Series) => `${pairAddress} ${timeframe}`;

/**
 * Acts on orders, at most once a candle. What it is about to do is written first: whatever ends the process in between,
 * the next one does not do it again. A series with an order of which nothing is known is left alone, until somebody has
 * looked and taken `pending` out of the state.
 */
export class Trader {
  readonly counts = { buys: 0, sells: 0, stops: 0 };
  /** What all sales have brought, less what was paid; in the currency of the prices. */
  profit = 0;
  #state: BotState;
  readonly #store: Store;
  readonly #broker: Broker;
  readonly #log: Log;

  constructor(store: Store, broker: Broker, log: Log) {
    this.#store = store;
    this.#broker = broker;
    this.#log = log;
    this.#state = store.read();
    for (const [series, { pending }] of Object.entries(this.#state)) {
      if (pending !== undefined) log("order-unknown", { series, order: pending });
    }
  }

  readonly positionOf = (series: Series): Position | undefined => this.#state[keyOf(series)]?.position;

  get positions(): Readonly<Record<string, Position>> {
    const held = Object.entries(this.#state).flatMap(([key, { position }]) =>
      position === undefined ? [] : [[key, position] as const],
    );
    return Object.fromEntries(held);
  }

  async act(order: Order): Promise<void> {
    const { series, side, candle } = order;
    const { position, pending, actedOn } = this.#state[keyOf(series)] ?? { actedOn: -1 };
    // Orders wait for those before them, so that they are looked at once more.
    if (pending !== undefined || candle <= actedOn || (side === "buy") === (position !== undefined)) return;
    const held = position === undefined ? {} : { position };
    this.#keep(series, { actedOn: candle, ...held, pending: order });
    this.#log("order", { ...order, series: keyOf(series) });
    try {
      const fill = await this.#broker(order, position);
      this.#keep(series, { actedOn: candle, ...(side === "buy" ? { position: fill } : {}) });
      this.#count(order, fill, position);
    } catch (error) {
      this.#log("order-unknown", { series: keyOf(series), order, error });
    }
  }

  #keep(series: Series, state: SeriesState): void {
    this.#state = { ...this.#state, [keyOf(series)]: state };
    this.#store.write(this.#state);
  }

  #count({ series, side, reason }: Order, fill: Fill, position: Position | undefined): void {
    if (side === "buy") this.counts.buys += 1;
    else this.counts[reason === "stop" ? "stops" : "sells"] += 1;
    const profit = position === undefined ? undefined : (fill.price - position.price) * fill.quantity;
    this.profit += profit ?? 0;
    this.#log("fill", { series: keyOf(series), side, ...fill, ...(profit === undefined ? {} : { profit }) });
  }
}

/** Fills at the price of the order, for a fixed amount of money; here goes what sends orders in earnest. */
export const paperBroker =
  (amount: number): Broker =>
  async ({ price }, position) => ({ price, quantity: position?.quantity ?? amount / price });
