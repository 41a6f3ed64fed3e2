import { expect, it, onTestFinished } from "vitest";
import { natsSource } from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { seriesOf } from "./busy-service.js";

it("warns, once, whoever reads candles that nobody publishes, where the stream is there or not", async () => {
  await natsLibrary();
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const wire = { up: (arrive: () => void) => arrive(), down: (arrive: () => void) => arrive() };
  const connection = new ModelConnection(new Servers(clock), wire, clock, 0).asConnection;
  const warnings: string[] = [];
  const listen = ({ message }: Error) => warnings.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const series = seriesOf("nobody");
  const source = natsSource(connection, { scheduler: clock });
  const reading = source.candles({ ...series, since: 0 }).subscribe();
  reading.add(source.status(series).subscribe());
  await clock.advanceBy(11_000);
  expect(warnings).toEqual([]);
  await clock.advanceBy(120_000);
  reading.unsubscribe();
  // Node tells of a warning in its next turn.
  await new Promise(setImmediate);
  expect(warnings).toEqual(["Nobody publishes pairstream.candles.mainnet.nobody.1s.usd so far"]);
});
