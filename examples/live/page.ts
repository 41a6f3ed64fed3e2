import type { Client } from "pairstream";
import { delay, filter, take } from "rxjs";
import { type ServedChart, serveChart } from "../live-chart/serve.js";
import { UsageError } from "../terminal/command-line.js";
import { pollsOf } from "./follow.js";
import type { LiveOptions } from "./options.js";
import type { OpenPlace } from "./place.js";

/** ms after the first answer; the lines that follow from it come first. */
const FIRST_LINES = 250;

/** Serves the chart of what is followed; `undefined` where it is not wanted. */
export async function openPage(
  place: OpenPlace,
  options: LiveOptions,
  client: Client,
): Promise<ServedChart | undefined> {
  const { pagePort: port, network, timeframe, currency } = options;
  if (port === undefined) return undefined;
  const { pair, pairs } = place;
  const first = { pairAddress: pair, timeframe, currency };
  try {
    const chart = await serveChart({ client, network, pairs, first, port, ...pollsOf(place, options) });
    const preparing = client.activity
      .pipe(
        filter(({ type }) => type === "response"),
        take(1),
        delay(FIRST_LINES),
      )
      .subscribe(chart.prepare);
    return {
      ...chart,
      close: () => {
        preparing.unsubscribe();
        return chart.close();
      },
    };
  } catch (error) {
    throw new UsageError(
      `the chart cannot be served: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
