import { connect, type NatsConnection } from "@nats-io/transport-node";
import { Option } from "commander";
import type { Timeframe } from "pairstream";
import { demoService } from "pairstream/service";

/** What collectors and bots are both told: where NATS is, and which candles it carries. */
export interface Given {
  readonly servers: string;
  readonly timeframe: Timeframe;
}

export const serversOption = new Option(
  "--servers <list>",
  "the addresses of NATS servers, as host:port, with commas between",
).default("127.0.0.1:4222");

export const timeframeOption = new Option("--timeframe <length>", "such as 1s, 15min or 1M").default("10s");

/** A connection that comes back however long that takes. */
export async function connectTo({ servers }: Given): Promise<NatsConnection> {
  try {
    return await connect({ servers: servers.split(","), maxReconnectAttempts: -1 });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`no NATS server at ${servers}: ${reason}; start one with \`nats-server -js\``, { cause });
  }
}

/** What is collected where no service is named: the same in every process that is started in the same hour. */
export const demo = demoService({ pairs: 4 });
