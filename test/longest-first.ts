import { relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long, the longest first, by what they took on two idle cores: none is to end alone after all others. */
export const LONGEST: readonly string[] = [
  "adapters/nats/failures.servers",
  "simulation/planted.long",
  "simulation/planted-more.long",
  "simulation/simulation.long",
  "package/doors",
  "browser/live-page",
  "browser/backtest-page",
  "examples/history.programs",
  "examples/backtest/sweep.programs",
  "backtest/sweep.programs",
  "browser/react",
  "browser/long-day",
  "browser/lightweight-charts.view",
  "simulation/nats/planted.long",
  "simulation/nats/cases.long",
  "simulation/replayed.long",
  "simulation/planted-replays.long",
  "adapters/nats/behind.servers",
  "browser/live-chart",
  "package/types",
  "examples/snipers.programs",
  "adapters/store/crash.programs",
  "browser/lightweight-charts",
  "browser/frameworks",
  "repository/documents.recipes",
  "repository/bench",
  "candles/cut.long",
  "adapters/sse/import.programs",
  "examples/audit.programs",
  "examples/history.files.programs",
  "examples/nats.servers",
  "package/serverless",
  "simulation/simulation",
  "simulation/replayed",
  "simulation/nats/simulation",
  "candles/cut",
  "candles/store",
  "candles/live",
  "candles/history-jump",
  "contract.hostile",
  "replay/replay",
  "indicators/volatility",
  "candles/first-candles",
  "service/market",
  "candles/requests",
  "adapters/tradingview/datafeed.properties",
  "replay/event-loop",
  "candles/clocks",
  "indicators/averages",
  "indicators/momentum",
  "service/unsettled",
  "indicators/trend",
  "candles/pairs-left",
  "adapters/store/stored-series",
  "candles/witness",
].map((name) => `test/${name}.test.ts`);

const root = fileURLToPath(new URL("..", import.meta.url));

/** Begins with what takes longest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranks = new Map(LONGEST.map((path, rank) => [path, rank]));
    const rankOf = ({ moduleId }: TestSpecification) => ranks.get(relative(root, moduleId)) ?? LONGEST.length;
    // Files that share a worker follow each other, or it ends between them.
    const sharedBy = ({ project: { config, name } }: TestSpecification) => (config.isolate ? "" : name);
    return (await super.sort(files)).sort(
      (a, b) =>
        Number(sharedBy(a) > sharedBy(b)) - Number(sharedBy(a) < sharedBy(b)) || rankOf(a) - rankOf(b),
    );
  }
}
