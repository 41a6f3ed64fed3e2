export type { Listening, ListenOptions } from "./listen.js";
export { listen } from "./listen.js";
export type { FetchLike, PairService, PairServiceOptions } from "./service.js";
export { createPairService } from "./service.js";
export type { SimulatedMarket, SimulatedMarketOptions } from "./simulated/market.js";
export { simulatedMarket } from "./simulated/market.js";
export type { Swap, SwapPair, SwapRange, SwapSource, SwapTapeOptions } from "./swaps.js";
export { swapTape } from "./swaps.js";
