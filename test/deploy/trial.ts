import Libsql from "libsql";
import { createClient, type Series, type Timeframe } from "pairstream";
import { createPairService, listen, type PairService, simulatedMarket } from "pairstream/service";
import { auditCandles, sqliteStore } from "pairstream/store";
import { lastValueFrom, toArray } from "rxjs";
import { freePort } from "../free-port.js";
import { buildProgram } from "./guide.js";
import { Manager } from "./manager.js";

const PAIRS = ["pair1", "pair2"];
export const KEY = "key-0815";
const HOUR = 3_600_000;

/** A service over HTTP, the program of the guide, and who starts and ends it. */
export class Trial {
  private constructor(
    readonly manager: Manager,
    readonly baseUrl: string,
    /** What the environment of the program adds to its unit. */
    readonly given: Readonly<Record<string, string>>,
    private readonly close: () => Promise<void>,
  ) {}

  /** `key` is what the program has. */
  static async open(environment: Readonly<Record<string, string>> = {}, key = KEY): Promise<Trial> {
    const source = simulatedMarket({ seed: 5, createdAt: Date.now() - 5 * HOUR, pairs: PAIRS });
    const service: PairService = createPairService({ source, apiKeys: [KEY] });
    const { url, close } = await listen(service, { port: 0 });
    const port = await freePort();
    const given = { BASE_URL: url, PAIRS: PAIRS.join(" "), PORT: String(port), ...environment };
    return new Trial(new Manager(await buildProgram(), key, given), url, given, close);
  }

  /** The answer of the program's health check; `undefined` if it gives none. */
  async health(): Promise<{ status: number; body: unknown } | undefined> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.given.PORT}/`);
      return { status: response.status, body: await response.json() };
    } catch {
      return undefined;
    }
  }

  /** How many candles the store holds. */
  get stored(): number {
    const database = new Libsql(this.manager.store);
    try {
      const [row] = database.prepare("SELECT count(*) AS count FROM candles").all() as { count: number }[];
      return row!.count;
    } finally {
      database.close();
    }
  }

  /** What of a store is not as the service has it, and how many candles it holds. */
  async audit(file = this.manager.store): Promise<{ findings: readonly unknown[]; candles: number }> {
    const database = new Libsql(file);
    const store = sqliteStore(database);
    const client = createClient({ baseUrl: this.baseUrl, apiKey: KEY });
    const findings: unknown[] = [];
    let candles = 0;
    for (const pairAddress of PAIRS) {
      const series: Series<Timeframe> = {
        network: "mainnet",
        pairAddress,
        timeframe: "1min",
        currency: "usd",
      };
      const key = { ...series, service: this.baseUrl, weekStart: "monday" } as const;
      const known = await store.read(key, { from: 0, to: Date.now() });
      candles += known.candles.length;
      const [span] = known.covered;
      if (known.covered.length !== 1) findings.push({ pairAddress, covered: known.covered });
      if (span === undefined) continue;
      const query = { ...series, ...span, against: store };
      const found = await lastValueFrom(auditCandles(client, query).pipe(toArray()));
      findings.push(...found.filter(({ type }) => type !== "outlier"));
    }
    store.close();
    return { findings, candles };
  }

  async end(): Promise<void> {
    await this.manager.stop();
    this.manager.clear();
    await this.close();
  }
}
