// What streams over NATS cost, and how they take failures: `npm run bench:nats`, or a part of it with `-- load`,
// `-- volume`, `-- memory`, `-- series`, which may be followed by how many, or `-- failures`, by the lease in ms.
import { measureFailures } from "./nats/failures.js";
import { measureLoads } from "./nats/load.js";
import { measureMemory } from "./nats/memory.js";
import { measureSeries } from "./nats/series.js";
import { measureVolume } from "./nats/volume.js";

const [only, size] = process.argv.slice(2);
const print = (line: string) => console.log(line);
const parts = {
  load: () => measureLoads(print),
  volume: () => measureVolume(print),
  memory: () => measureMemory(print),
  series: () => measureSeries(Number(size ?? 5_000), print),
  failures: () => measureFailures(Number(size ?? 2_000), print),
};

for (const [name, measure] of Object.entries(parts)) {
  if (only === undefined || only === name) await measure();
}
