// What streams over NATS cost, and how they take failures: `npm run bench:nats`, or a part of it with `-- load`,
// `-- volume`, `-- memory` or `-- failures`, which may be followed by the lease in ms.
import { measureFailures } from "./nats/failures.js";
import { measureLoads } from "./nats/load.js";
import { measureMemory } from "./nats/memory.js";
import { measureVolume } from "./nats/volume.js";

const [only, lease = 2_000] = process.argv.slice(2);
const print = (line: string) => console.log(line);
const parts = {
  load: () => measureLoads(print),
  volume: () => measureVolume(print),
  memory: () => measureMemory(print),
  failures: () => measureFailures(Number(lease), print),
};

for (const [name, measure] of Object.entries(parts)) {
  if (only === undefined || only === name) await measure();
}
