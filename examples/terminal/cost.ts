import type { Client, Cost } from "pairstream";

/** Counts what a client asks for from now on. */
export class Spending implements Cost {
  requests = 0;
  /** In the service's units. */
  units = 0;

  constructor({ activity }: Client) {
    activity.subscribe((told) => {
      if (told.type === "request") this.requests += 1;
      if (told.type === "response") this.units += told.weight ?? 0;
    });
  }
}

export function costText({ requests, units }: Cost): string {
  const shown = (count: number) => count.toLocaleString("en-US");
  return `${shown(requests)} ${requests === 1 ? "request" : "requests"}, ${shown(units)} units`;
}

export function sumOf(costs: readonly Cost[]): Cost {
  return costs.reduce(
    (all, { requests, units }) => ({ requests: all.requests + requests, units: all.units + units }),
    { requests: 0, units: 0 },
  );
}
