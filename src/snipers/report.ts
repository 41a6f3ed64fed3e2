import { concatMap, defer, filter, map, type Observable, type OperatorFunction } from "rxjs";
import { type Client, coreOf } from "../client/core.js";
import { showFields } from "../contract/input.js";
import { InvalidInputError } from "../errors.js";
import { nextLook, type SniperLook, type ToldLook } from "./look.js";
import type { SniperTrade } from "./trades.js";
import { checkSniperWatch, type SniperWatch, sniperViews } from "./watch.js";

/**
 * The snipers of a pair as a whole after each look that changed something, with the events and the trades of that look.
 *
 * ```marbles
 * swaps                         (xyz)---u-----v---------
 * watchSniperReport(client, …)  a-----------b-----c-----
 *
 * -: 10 s         x: ann buys     y: bob buys     z: ann sells    u: bob sells    v: ann sells
 * a: first, ann made snipe, ann made sell         b: bob made snipe, bob made sell
 * c: ann made sell
 * ```
 *
 * It shares the poll of `watchSnipers` with the same options, so it costs no request beside that, and ends as that does. The first
 * look always comes, an empty one too. A late subscriber gets one at once. A wallet of which a report lacks something that was
 * there stays as it was for a look, until a second report has come: its totals always agree with its transactions. With `known`,
 * a look that was kept, nothing is told again. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, watchSniperReport } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * watchSniperReport(client, { pairAddress }).subscribe(({ report, trades }) => {
 *   console.log(`${report.result.length} wallets, ${trades.length} trades in this look`);
 * });
 * ```
 */
export function watchSniperReport(client: Client, options: SniperWatch): Observable<SniperLook> {
  const core = coreOf(client);
  const watch = checkSniperWatch(options);
  return defer(() => {
    let told: ToldLook | undefined;
    return sniperViews(core, watch).pipe(
      map((view) => {
        const before = told;
        told = nextLook(before, view, watch.query, watch.known);
        return { look: told.look, isNew: told !== before };
      }),
      filter(({ isNew }) => isNew),
      map(({ look }) => look),
    );
  });
}

/**
 * Operator: the trades of looks one by one: each snipe and each sale once, those of new wallets included, and each that a fork
 * took back.
 *
 * ```marbles
 * looks           a-----b----
 * sniperTrades()  (xy)--(uv)-
 *
 * a: first, ann made snipe, ann made sell         b: bob made snipe, bob made sell
 * x: ann made snipe   y: ann made sell   u: bob made snipe   v: bob made sell
 * ```
 *
 * Those of a first look have `initial: true`. `lookUsd` is what all trades of one wallet and side in one look amount to together,
 * as the service does not say more. What is no look ends it with an `InvalidInputError`.
 *
 * ```ts
 * import { createClient, sniperTrades, watchSniperReport } from "pairstream";
 * import { filter } from "rxjs";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * watchSniperReport(client, { pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d" })
 *   .pipe(
 *     sniperTrades(),
 *     filter(({ initial, kind, side }) => !initial && kind === "made" && side === "sell"),
 *   )
 *   .subscribe(({ walletAddress, lookUsd }) => console.log(`${walletAddress} sold for ${lookUsd ?? "?"} USD`));
 * ```
 */
export function sniperTrades(): OperatorFunction<SniperLook, SniperTrade> {
  return concatMap((look) => {
    if (Array.isArray(look?.trades)) return look.trades;
    throw new InvalidInputError("looks", "looks as of watchSniperReport", `hold ${showFields(look)}`);
  });
}
