/**
 * Hooks for React, 18 or later: the candles and snipers of a `PairSource` in components.
 *
 * @module pairstream/react
 */
"use client";

export { type CandlesState, type CandlesView, useCandles } from "./use-candles.js";
export { type SniperReportState, useSniperReport } from "./use-sniper-report.js";
export { type SnipersState, useSnipers } from "./use-snipers.js";
