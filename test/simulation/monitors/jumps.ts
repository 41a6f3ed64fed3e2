import type { Monitor } from "./monitor.js";

const CAUSES: readonly string[] = ["wrongDate", "jumpingDate", "clock set"];

/** Promise 11: neither machines whose clocks differ nor a cache is a clock that jumps, whatever its answers tell of their age. */
export const watchJumps: Monitor = ({ plan, activities }, context) => {
  const causes = plan.faults.filter(({ kind }) => CAUSES.includes(kind));
  for (const { at, value } of activities) {
    if (value.type !== "clock" || !value.jumped) continue;
    if (causes.some(({ from }) => plan.world.start + from <= at)) continue;
    context.breach(11, `takes the service's clock for one that has jumped by ${value.offset} ms`, at);
    return;
  }
};
