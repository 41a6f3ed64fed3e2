import type { Bench } from "./bench.js";

/** The benches by the names that `npm run bench -- NAME` takes. */
export const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  indicators: async () => (await import("./indicators.js")).indicators,
  pipe: async () => (await import("./pipe.js")).pipe,
  page: async () => (await import("./page.js")).page,
  hostile: async () => (await import("./hostile.js")).hostile,
  book: async () => (await import("./book.js")).book,
  replay: async () => (await import("./replay.js")).replay,
  year: async () => (await import("./year.js")).year,
  poll: async () => (await import("./poll.js")).poll,
  scale: async () => (await import("./scale.js")).scale,
  closes: async () => (await import("./closes.js")).closes,
  freshness: async () => (await import("./freshness.js")).freshness,
  download: async () => (await import("./download.js")).download,
};
