import type { VirtualClock } from "../../../src/index.js";
import { chanceOf } from "../draw.js";
import type { Node } from "./node.js";
import { type NatsFault, type NatsPlan, SPREAD_OF_SERVERS, type Whom } from "./plan.js";
import type { Wire } from "./servers.js";

/** After so long without the servers a client notices, in ms, and so long after they are back it finds them again. */
const NOTICED_AFTER = 2_500;
const FOUND_AFTER = 150;
const LONGEST_LATENESS = 3_000;

/** Whether a fault strikes a process. */
export function strikes(fault: NatsFault, whom: Whom): boolean {
  if ("whom" in fault) return JSON.stringify(fault.whom) === JSON.stringify(whom);
  return "collector" in fault && "collector" in whom && fault.collector === whom.collector;
}

/** The faults that cut a process off from the servers, or from the service. */
function outagesOf({ faults }: NatsPlan, whom: Whom, side: "servers" | "service"): readonly NatsFault[] {
  return faults.filter((fault) => {
    if (fault.kind === "servers restart") return side === "servers";
    return fault.kind === "cut" && strikes(fault, whom) && (fault.side === side || fault.side === "both");
  });
}

/** The way of one process to the servers and to the service, with all that goes wrong on it. */
export class Way implements Wire {
  readonly #plan: NatsPlan;
  readonly #clock: VirtualClock;
  readonly #node: Node;
  /** Called before and after each message or request that the process sends; gives whether it still lives. */
  readonly #operate: (isSent: boolean) => boolean;
  readonly #count: (fault: string) => void;
  readonly #key: string;
  readonly #toServers: readonly NatsFault[];
  readonly #toService: readonly NatsFault[];
  readonly #last = { up: 0, down: 0 };
  #number = 0;

  constructor(
    plan: NatsPlan,
    whom: Whom,
    life: number,
    { clock, node }: { clock: VirtualClock; node: Node },
    operate: (isSent: boolean) => boolean,
    count: (fault: string) => void,
  ) {
    this.#plan = plan;
    this.#clock = clock;
    this.#node = node;
    this.#operate = operate;
    this.#count = count;
    this.#key = `${JSON.stringify(whom)} ${life}`;
    this.#toServers = outagesOf(plan, whom, "servers");
    this.#toService = outagesOf(plan, whom, "service");
  }

  up(arrive: () => void): void {
    if (!this.#operate(false)) return;
    this.#carry("up", arrive);
    this.#operate(true);
  }

  down(arrive: () => void): void {
    this.#carry("down", () => this.#node.arrive(arrive));
  }

  /** Whether nothing gets to the service now. */
  get isCutOff(): boolean {
    return this.#of(this.#toService) !== undefined;
  }

  /** The time to the service, or back. */
  get serviceLatency(): number {
    return this.#plan.latency.service + this.#chance("service") * this.#plan.latency.spread;
  }

  /** Whether a client has noticed by now that the servers are gone. */
  get hasNoticed(): boolean {
    const now = this.#clock.now() - this.#plan.start;
    return this.#toServers.some(({ kind, from, until }) => {
      const noticed = kind === "servers restart" ? from : from + NOTICED_AFTER;
      return noticed <= now && now < until + FOUND_AFTER && noticed < until;
    });
  }

  /** The instants at which that may change, after the start. */
  get changes(): readonly number[] {
    return this.#toServers.flatMap(({ kind, from, until }) => [
      kind === "servers restart" ? from : from + NOTICED_AFTER,
      until + FOUND_AFTER,
    ]);
  }

  operateRequest(send: () => void): void {
    if (!this.#operate(false)) return;
    send();
    this.#operate(true);
  }

  #of(outages: readonly NatsFault[]): NatsFault | undefined {
    const now = this.#clock.now() - this.#plan.start;
    return outages.find(({ from, until }) => from <= now && now < until);
  }

  #carry(direction: "up" | "down", arrive: () => void): void {
    const now = this.#clock.now();
    const { latency, start, faults } = this.#plan;
    let at = now + latency.servers + this.#chance("latency") * latency.spread * SPREAD_OF_SERVERS;
    const outage = this.#of(this.#toServers);
    if (outage !== undefined) {
      // Short ones are overcome by the packets that are sent again.
      const isShort = outage.kind === "cut" && outage.until - outage.from < NOTICED_AFTER;
      this.#count(outage.kind === "cut" ? "cut message" : "message to a dead server");
      if (!isShort) return;
      at = Math.max(at, start + outage.until + latency.servers);
    }
    let isInOrder = true;
    for (const fault of faults) {
      if (fault.kind !== "messages" || now < start + fault.from || now >= start + fault.until) continue;
      if (this.#chance("messages") >= fault.rate) continue;
      this.#count(`message ${fault.how}`);
      if (fault.how === "lost") return;
      if (fault.how === "late") at += this.#chance("late") * LONGEST_LATENESS;
      if (fault.how === "swapped") {
        at += this.#chance("swapped") * 200;
        isInOrder = false;
      }
      if (fault.how === "doubled") this.#clock.schedule(arrive, at + this.#chance("doubled") * 200 - now);
    }
    if (isInOrder) {
      at = Math.max(at, this.#last[direction]);
      this.#last[direction] = at;
    }
    this.#clock.schedule(arrive, at - now);
  }

  #chance(of: string): number {
    this.#number += 1;
    return chanceOf(this.#plan.seed, this.#key, of, this.#number);
  }
}
