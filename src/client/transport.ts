import crossFetch from "cross-fetch";
import type { SchedulerLike, Subscription } from "rxjs";

/** The part of `fetch` that the library uses: the global one, cross-fetch's and a local service's all have it. */
export type FetchLike = (
  url: string,
  init?: {
    method?: string;
    headers?: Record<string, string>;
    redirect?: "error" | "manual";
    signal?: AbortSignal;
  },
) => Promise<{
  status: number;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

/** The largest body that is read, in bytes; a page of 1,000 candles has about 200,000. */
export const MAX_BODY = 32 * 1024 * 1024;

/** Of one request, by whoever records or replays it: the client then goes by these instants. */
export interface TripTimes {
  sent?: number;
  /** When the whole answer, or the failure, was there. */
  received?: number;
  /** Whether the client gave up by itself, and not because its caller left. */
  hasTimedOut?: boolean;
}

/** Where a request's `init` carries its `TripTimes`. */
export const TRIP_TIMES = Symbol("trip times");

/** A scheduler on which answers have their place among the timers. */
export interface ArrivalScheduler extends SchedulerLike {
  /** Does `work` about what came at `instant`: once all timers due by then have fired, at once where they have. */
  arrive(instant: number, work: () => void): Subscription;
}

/** Under this a `fetch` that records or replays makes the scheduler that its client is to go by. */
export const SESSION_SCHEDULER = Symbol("session scheduler");

/** The scheduler of a client with this `fetch`. */
export function schedulerFor(fetch: FetchLike, scheduler: SchedulerLike): SchedulerLike | ArrivalScheduler {
  const { [SESSION_SCHEDULER]: make } = fetch as {
    [SESSION_SCHEDULER]?: (scheduler: SchedulerLike) => ArrivalScheduler;
  };
  return make?.(scheduler) ?? scheduler;
}

/** cross-fetch, which on Node is node-fetch, with connections of its own that outlive a request. */
export function keepAliveFetch(): FetchLike {
  const agent = keepAliveAgent();
  // Neither option is known to a browser's fetch, which ignores them; nor to the types, which are the browser's.
  const options = { size: MAX_BODY, ...(agent === undefined ? {} : { agent }) };
  return (url, init) => crossFetch(url, { ...init, ...options });
}

/** An idle connection keeps no process alive: Node's agents see to that. */
function keepAliveAgent(): ((url: URL) => unknown) | undefined {
  const builtin = globalThis.process?.getBuiltinModule;
  const http = builtin?.("node:http");
  const https = builtin?.("node:https");
  if (http === undefined || https === undefined) return undefined;
  const plain = noticingCutOffs(new http.Agent({ keepAlive: true }));
  const secure = noticingCutOffs(new https.Agent({ keepAlive: true }));
  return ({ protocol }) => (protocol === "https:" ? secure : plain);
}

/** The parts of Node's requests and answers that tell of an end. */
interface NodeRequest {
  once(event: "response", listener: (response: NodeResponse) => void): unknown;
  emit(event: "error", error: Error): unknown;
}
interface NodeResponse {
  readonly complete: boolean;
  once(event: "close", listener: () => void): unknown;
}

/**
 * Where a connection breaks within a body of known length, node-fetch waits for the rest until its caller gives
 * up; a request that fails tells it.
 */
function noticingCutOffs<A extends object>(agent: A): A {
  const { addRequest } = agent as { addRequest?: (request: NodeRequest, ...rest: unknown[]) => void };
  if (addRequest === undefined) return agent;
  return Object.assign(agent, {
    addRequest(request: NodeRequest, ...rest: unknown[]) {
      request.once("response", (response) => {
        response.once("close", () => {
          if (response.complete) return;
          const error = new Error("the connection was closed within the body");
          request.emit("error", Object.assign(error, { code: "ECONNRESET" }));
        });
      });
      addRequest.call(agent, request, ...rest);
    },
  });
}
