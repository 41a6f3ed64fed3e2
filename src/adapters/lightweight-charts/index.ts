/**
 * Draws candles, lines and markers from events on a chart of lightweight-charts 5, with all corrections, and keeps the view.
 *
 * @module pairstream/lightweight-charts
 */

export { type DrawOptions, drawCandles } from "./draw-candles.js";
export { drawLine, type LineOptions } from "./draw-line.js";
export { drawMarkers, drawSnipers, type SniperMarkerOptions } from "./draw-markers.js";
export type { Marker } from "./marks.js";
