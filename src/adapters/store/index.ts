/**
 * Stores of final candles, so that you pay for each once: in memory, in SQLite, in a browser; and an audit of their
 * content.
 *
 * @module pairstream/store
 */

export type { ClientStore } from "../../client/client-store.js";
export type { CandleStore, Known, Span, StoredCandles, StoreKey, StoreRange } from "../../contract/store.js";
export { type AuditOptions, type AuditRange, auditCandles, auditCost } from "./audit.js";
export type { Finding, OutlierField } from "./audit-finding.js";
export { candleStore } from "./candle-store.js";
export { indexedDbStore } from "./indexed-db.js";
export { memoryStore } from "./memory.js";
export { type SqliteDatabase, type SqliteStatement, sqliteStore } from "./sqlite.js";
