import { beforeAll, expect, it, onTestFinished } from "vitest";
import { natsSource } from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { seriesOf } from "./busy-service.js";

beforeAll(() => natsLibrary());

/** A reader of candles that nobody publishes, with what it is told of that. */
function readerOfNothing() {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const wire = { up: (arrive: () => void) => arrive(), down: (arrive: () => void) => arrive() };
  const connection = new ModelConnection(new Servers(clock), wire, clock, 0);
  const warnings: string[] = [];
  const states: string[] = [];
  const listen = ({ message }: Error) => warnings.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const read = () => {
    const series = seriesOf("nobody");
    const source = natsSource(connection.asConnection, { scheduler: clock });
    const reading = source.candles({ ...series, since: 0 }).subscribe();
    reading.add(
      source.status(series).subscribe(({ state, lastError }) => {
        states.push(lastError === undefined ? state : `${state}: ${lastError.name}: ${lastError.message}`);
      }),
    );
    onTestFinished(() => reading.unsubscribe());
  };
  return { clock, connection, warnings, states, read };
}

const WARNING = "Nobody publishes pairstream.candles.mainnet.nobody.1s.usd so far";
const ABSENCE = "stalled: NetworkError: Nobody publishes this feed";
const SILENCE = "The NATS server model does not answer: timeout";
const SILENT = `stalled: NetworkError: ${SILENCE}`;

it("warns, once, whoever reads candles that nobody publishes, where the stream is there or not", async () => {
  const { clock, warnings, states, read } = readerOfNothing();
  read();
  await clock.advanceBy(11_000);
  expect(warnings).toEqual([]);
  await clock.advanceBy(120_000);
  // Node tells of a warning in its next turn.
  await new Promise(setImmediate);
  expect(warnings).toEqual([WARNING]);
  expect(states).toEqual(["starting", ABSENCE]);
});

it("says that the server does not answer, and not that nobody publishes, until it does", async () => {
  const { clock, connection, warnings, states, read } = readerOfNothing();
  connection.disconnect();
  read();
  await clock.advanceBy(11_000);
  expect(states).toEqual(["starting"]);
  await clock.advanceBy(50_000);
  expect(states).toEqual(["starting", SILENT]);
  connection.reconnect();
  await clock.advanceBy(15_000);
  expect(states).toEqual(["starting", SILENT, ABSENCE]);
  await new Promise(setImmediate);
  expect(warnings).toEqual([SILENCE, WARNING]);
});

it.each(["is lost", "stands still"])(
  "says so of a server that %s once it has said that nobody publishes",
  async (how) => {
    const { clock, connection, states, read } = readerOfNothing();
    read();
    await clock.advanceBy(30_000);
    const { request } = connection;
    if (how === "is lost") connection.disconnect();
    else
      connection.request = () =>
        Promise.reject(Object.assign(new Error("timeout"), { name: "TimeoutError" }));
    await clock.advanceBy(30_000);
    expect(states).toEqual(["starting", ABSENCE, SILENT]);
    connection.request = request;
    connection.reconnect();
    await clock.advanceBy(30_000);
    expect(states).toEqual(["starting", ABSENCE, SILENT, ABSENCE]);
  },
);
