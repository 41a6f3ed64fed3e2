import crossFetch from "cross-fetch";
import type { SchedulerLike, Subscription } from "rxjs";
import type { Redactor } from "./redact.js";

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

/**
 * The largest body that is read, in bytes: of nothing but brackets it takes a second to parse. A page of 1,000 candles
 * has about 200,000.
 */
export const MAX_BODY = 8 * 1024 * 1024;

/** What a request's `init` carries under `SESSION`, for a `fetch` that records or replays. */
export interface SessionRequest {
  /** The client's. */
  readonly scheduler: SchedulerLike;
  /** Keeps the client's keys out of what is written. */
  readonly redact: Redactor;
  /** Gives the key, where that is a function's; rejects if the request must not be sent. */
  readonly key?: (() => Promise<string>) | undefined;
  /** Whether it was not sent, as no key was given. */
  isUnsent?: boolean | undefined;
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

/** The header of the key. */
export const KEY_HEADER = "X-API-Key";

/** Joins a `fetch` that records or replays to its client. */
export const SESSION = Symbol();

/** A `fetch` that may have a scheduler for its client, in place of the client's own. */
export type SessionFetch = FetchLike & {
  [SESSION]?: ((scheduler: SchedulerLike) => SchedulerLike) & { readonly isReplay?: boolean };
};

type Init = Parameters<FetchLike>[1];

/** The client's notes about its request; `undefined` if the request does not come from a client. */
export function sessionOf(init: Init): SessionRequest | undefined {
  return (init as { [SESSION]?: SessionRequest } | undefined)?.[SESSION];
}

/** Calls `fetch`; once the key is given, where that is a function's. */
export function fetchWithKey(fetch: FetchLike, url: string, init: Init): ReturnType<FetchLike> {
  const session = sessionOf(init);
  if (session?.key === undefined) return fetch(url, init);
  return session.key().then((key) => {
    session.isUnsent = false;
    return fetch(url, { ...init, headers: { ...init?.headers, [KEY_HEADER]: key } });
  });
}

/** Marks the failure of a request whose kept connection was closed before a byte of the answer had come. */
export const STALE = Symbol("stale");

/**
 * Whether `fetch` failed because a kept connection was closed: the request may be sent again. Node's own fetch tells that
 * the other side closed, and whether it had read something before; a browser's fetch sends again by itself.
 */
export function isStale(failure: unknown): boolean {
  try {
    const { [STALE]: isMarked, cause } = failure as { [STALE]?: boolean; cause?: PlatformCause };
    return isMarked ?? (cause?.code === "UND_ERR_SOCKET" && cause.socket!.bytesRead > 0);
  } catch {
    // Not every failure is an object, or can be read.
    return false;
  }
}

type PlatformCause = { readonly code?: unknown; readonly socket?: { readonly bytesRead: number } };

/** How long an idle connection is kept, in ms: common servers and proxies close it after a minute. */
const LONGEST_IDLE = 55_000;

/** cross-fetch, which on Node is node-fetch, with connections of its own that outlive a request. */
export function keepAliveFetch(): FetchLike {
  const agents = keepAliveAgents();
  return (url, init) => {
    let isLost = false;
    const lose = () => {
      isLost = true;
    };
    const agent =
      agents && (({ protocol }: URL) => watched(protocol === "https:" ? agents.secure : agents.plain, lose));
    // A browser's fetch ignores both options. The types are the browser's and do not know them.
    return crossFetch(url, { ...init, ...{ size: MAX_BODY, agent } }).catch((error) => {
      throw isLost ? Object.assign(error, { [STALE]: true }) : error;
    });
  };
}

/**
 * Agents whose idle connections keep no process alive, and close a second before the server does, if it says when. Node's
 * agents do both if they have a limit of their own.
 */
function keepAliveAgents() {
  const builtin = globalThis.process?.getBuiltinModule;
  const http = builtin?.("node:http");
  const https = builtin?.("node:https");
  if (http === undefined || https === undefined) return undefined;
  const options = { keepAlive: true, timeout: LONGEST_IDLE };
  return { plain: new http.Agent(options), secure: new https.Agent(options) };
}

/** The parts of Node's agents, requests and answers that tell of an end. */
interface NodeAgent {
  addRequest?(request: NodeRequest, ...rest: unknown[]): void;
  readonly freeSockets: Readonly<Record<string, readonly NodeSocket[] | undefined>>;
}
interface NodeRequest {
  readonly reusedSocket: boolean;
  once(event: "response", listener: (response: NodeResponse) => void): unknown;
  once(event: "socket", listener: (socket: NodeSocket) => void): unknown;
  once(event: "error", listener: () => void): unknown;
  emit(event: "error", error: Error): unknown;
}
interface NodeResponse {
  readonly complete: boolean;
  once(event: "close", listener: () => void): unknown;
}
interface NodeSocket {
  readonly bytesRead: number;
  destroy(): unknown;
}

/**
 * The agent, for one request. If a connection breaks within a body of known length, node-fetch would wait for the rest:
 * the agent makes the request fail. If a kept connection breaks before an answer, the agent calls `lose` and closes the
 * other idle ones: they are as old, and the next request should get a new one.
 */
function watched(agent: object, lose: () => void): object {
  const { addRequest, freeSockets } = agent as NodeAgent;
  if (addRequest === undefined) return agent;
  return Object.assign(Object.create(agent), {
    addRequest(request: NodeRequest, ...rest: unknown[]) {
      let socket: NodeSocket | undefined;
      let read: number | undefined;
      request.once("socket", (given) => {
        socket = given;
        read = given.bytesRead;
      });
      request.once("error", () => {
        if (!request.reusedSocket || socket?.bytesRead !== read) return;
        lose();
        for (const idle of Object.values(freeSockets).flat()) idle?.destroy();
      });
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
