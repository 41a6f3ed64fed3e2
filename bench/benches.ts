import type { Bench } from "./bench.js";

/** The benches by the names that `npm run bench -- NAME` takes. */
export const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  indicators: async () => (await import("./indicators.js")).indicators,
  columns: async () => (await import("./columns.js")).columns,
  pipe: async () => (await import("./pipe.js")).pipe,
  page: async () => (await import("./page.js")).page,
  hostile: async () => (await import("./hostile.js")).hostile,
  book: async () => (await import("./book.js")).book,
  replay: async () => (await import("./replay.js")).replay,
  backtest: async () => (await import("./backtest.js")).backtest,
  year: async () => (await import("./year.js")).year,
  poll: async () => (await import("./poll.js")).poll,
  scale: async () => (await import("./scale.js")).scale,
  closes: async () => (await import("./closes.js")).closes,
  store: async () => (await import("./store.js")).store,
  freshness: async () => (await import("./freshness.js")).freshness,
  profile: async () => (await import("./profile.js")).profile,
  hour: async () => (await import("./hour.js")).hour,
  import: async () => (await import("./import.js")).coldImport,
  download: async () => (await import("./download.js")).download,
};

/** Those that are run by their names alone, as they take hours. */
export const LONG: readonly string[] = ["hour"];
