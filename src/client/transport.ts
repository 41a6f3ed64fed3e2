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

/** What a request's `init` carries under `SESSION`, for a `fetch` that records or replays. */
export interface SessionRequest {
  /** The client's. */
  readonly scheduler: SchedulerLike;
  /** When it was sent in truth; set before `fetch` returns. */
  sent?: number;
  /** When the head of the answer was there; set before that is given. */
  answered?: number;
  /** When the whole answer, or the failure, was there; set before that is given. */
  received?: number;
  /** Does `work` about the answer or failure when it is its turn. */
  arrive?(work: () => void): Subscription;
  /** Whether the client gave up by itself, and not because its caller left. */
  hasTimedOut?: boolean;
}

/** Joins a `fetch` that records or replays to its client. */
export const SESSION = Symbol();

/** A `fetch` that may have a scheduler for its client, in place of the client's own. */
export type SessionFetch = FetchLike & { [SESSION]?: (scheduler: SchedulerLike) => SchedulerLike };

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
