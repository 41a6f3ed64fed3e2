// What runs wherever JavaScript does: all of the service but `listen`.

export type { DemoOptions, DemoService } from "./demo.js";
export { demoService } from "./demo.js";
export type { Fault, FaultKind } from "./faults/kinds.js";
export { FAULT_KINDS } from "./faults/kinds.js";
export type { FaultOptions, ScheduledFault } from "./faults/options.js";
export { withFaults } from "./faults/with-faults.js";
export type { ServiceQuirks } from "./quirks.js";
export type { FetchLike, PairService, PairServiceOptions } from "./service.js";
export { createPairService } from "./service.js";
export type { SimulatedMarket, SimulatedMarketOptions } from "./simulated/market.js";
export { simulatedMarket } from "./simulated/market.js";
export type { Swap, SwapPair, SwapRange, SwapSource, SwapTapeOptions } from "./swaps.js";
export { swapTape } from "./swaps.js";
export type { UnsettledOptions, UnsettledSource } from "./unsettled.js";
export { unsettled } from "./unsettled.js";
