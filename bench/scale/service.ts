// The service that `bench/scale.ts` has polled, in a process of its own.
import { createPairService, listen } from "pairstream/service";
import { steadyMarket } from "./market.js";
import { tell } from "./processes.js";

const { url } = await listen(createPairService({ source: steadyMarket }), { port: 0 });
tell({ url });
