import { relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long, the longest first, by what they took on two idle cores: none is to end alone after all others. */
export const LONGEST: readonly string[] = [
  "simulation/simulation.long",
  "package/doors",
  "examples/backtest.programs",
  "simulation/planted-more.long",
  "simulation/planted.long",
  "simulation/nats/planted.long",
  "candles/cut.long",
  "package/types",
  "examples/history.files.programs",
  "examples/live.programs",
  "adapters/nats/failures.servers",
  "examples/snipers.programs",
  "examples/bot.programs",
  "browser/long-day",
  "replay/replay.long",
  "repository/bench",
  "examples/snipers-guide.programs",
  "simulation/nats/cases.long",
  "examples/scripts.programs",
  "simulation/replayed.long",
  "adapters/store/crash.programs",
  "examples/nats.servers",
  "examples/history.programs",
  "deploy/deploy.programs",
  "repository/documents.recipes",
  "repository/documents",
  "examples/readme.programs",
  "package/serverless",
  "browser/backtest-page",
  "browser/live-page",
  "examples/audit.programs",
  "adapters/nats/behind.servers",
  "repository/layers",
  "browser/frameworks",
  "examples/backtest/sweep.programs",
  "backtest/sweep.programs",
  "package/tarball",
  "browser/react",
  "browser/live-chart",
  "browser/lightweight-charts.view",
  "browser/lightweight-charts",
  "package/page",
  "simulation/planted-replays.long",
  "adapters/sse/import.programs",
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
