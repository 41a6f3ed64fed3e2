// What every runtime of the matrix has to do; the doors come from outside, as each runtime loads them in its own way.

const HOUR = 3_600_000;
const START = Date.UTC(2025, 0, 1, 1);

/**
 * Candles with indicators in virtual time through faults, recorded and replayed, and relayed as server-sent events.
 * Gives figures that are the same wherever this runs.
 */
export async function run({ root, service, sse, rxjs }) {
  const recorded = await trade(root, service);
  const replayed = await again(root, recorded);
  return {
    closes: recorded.closes.length,
    digest: digest(recorded.closes),
    pending: recorded.pending,
    exchanges: recorded.tape.length,
    replay: replayed === recorded.closes.join("\n") ? "the same" : "another session",
    sse: typeof Response === "function" ? await relay(root, sse, rxjs) : "no Response",
    gateway: typeof Response === "function" ? await serve(root, service, sse) : "no Response",
  };
}

/** Collects and reads candles where there is a server. */
export async function publish({ root, nats, rxjs, connect }, servers, name) {
  const connection = await connect({ servers });
  const began = Math.floor(Date.now() / 60_000) * 60_000 - 3 * 60_000;
  const client = root.createClient({
    baseUrl: "https://service.test",
    apiKey: "key",
    fetch: threeMinutes(began),
    rateLimit: false,
  });
  const collecting = nats.collect(connection, client, [{ ...SERIES, since: began }], { name }).subscribe();
  const published = nats.natsSource(connection, { name }).candles({ ...SERIES, since: began });
  const closings = await rxjs.lastValueFrom(
    published.pipe(
      rxjs.map(({ candle }) => candle.close),
      rxjs.take(3),
      rxjs.toArray(),
    ),
  );
  collecting.unsubscribe();
  await connection.close();
  return closings;
}

const SERIES = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };

/** A service whose last three minutes closed at 1, 2 and 3. */
function threeMinutes(began) {
  return async (url) => {
    const asked = new URL(url).searchParams;
    const [from, to] = ["fromDate", "toDate"].map((name) => Number(asked.get(name)) * 1_000);
    const result = [1, 2, 3]
      .map((price, at) => ({ price, start: began + at * 60_000 }))
      .filter(({ start }) => start >= from && start <= to)
      .reverse()
      .map(({ price, start }) => {
        const prices = { open: price, high: price, low: price, close: price };
        return { timestamp: new Date(start).toISOString(), ...prices, volume: 1, swaps: 1 };
      });
    const body = { ...SERIES, page: 1, cursor: null, tokenAddress: "token", result };
    const date = new Date().toUTCString();
    const headers = { get: (name) => (/^date$/i.test(name) ? date : null) };
    return { status: 200, headers, text: async () => JSON.stringify(body) };
  };
}

async function trade(root, { demoService, withFaults }) {
  const clock = new root.VirtualClock(START);
  const demo = demoService({ createdAt: "2025-01-01", clock: () => clock.now() });
  const rates = { delay: 0.1, reset: 0.1, "5xx": 0.1, cutOff: 0.05 };
  const faulty = withFaults(demo.clientOptions.fetch, { seed: 7, scheduler: clock, rates });
  const tape = [];
  const fetch = root.recordExchanges(faulty, (line) => tape.push(line));
  const client = root.createClient({ ...demo.clientOptions, fetch, scheduler: clock });
  const series = { ...SERIES, pairAddress: demo.pairs[0] };
  const { closes, watch } = watched(root, client, series);
  await clock.advanceBy(HOUR);
  watch.unsubscribe();
  return { closes, tape, series, pending: clock.pending };
}

async function again(root, { tape, series }) {
  const { fetch, scheduler, run } = root.replayExchanges(tape);
  const client = root.createClient({ baseUrl: "http://localhost", apiKey: "any", fetch, scheduler });
  const { closes, watch } = watched(root, client, series);
  await run();
  await scheduler.advanceTo(START + HOUR);
  watch.unsubscribe();
  return closes.join("\n");
}

function watched(root, client, series) {
  const closes = [];
  const values = { fast: root.ema(5), bands: root.bollinger(10, 2), strength: root.rsi(14) };
  const watch = root
    .watchCandles(client, { ...series, since: { candles: 20 } })
    .pipe(root.withIndicators(values), root.closes())
    .subscribe(({ candle, values }) => closes.push(JSON.stringify([candle, values])));
  return { closes, watch };
}

async function relay(root, { createGateway, gatewaySource }, rxjs) {
  const source = {
    candles: () => root.replayCandles(threeCandles(), SERIES),
    status: () => rxjs.EMPTY,
    snipers: () => rxjs.EMPTY,
    sniperReport: () => rxjs.EMPTY,
    history: async () => [],
  };
  const gateway = createGateway(source, { allow: [SERIES] });
  const page = gatewaySource("https://gateway.test/pairs", {
    fetch: (url, init) => gateway.fetch(new Request(url, init)),
  });
  return rxjs.lastValueFrom(
    page.candles({ ...SERIES, since: { candles: 5 } }).pipe(
      rxjs.map(({ candle }) => candle.close),
      rxjs.toArray(),
    ),
  );
}

/** Closes through a gateway, candles of its history, and what is left once it is closed. */
async function serve(root, { demoService }, { createGateway, gatewaySource }) {
  const clock = new root.VirtualClock(START);
  const demo = demoService({ createdAt: "2025-01-01", clock: () => clock.now() });
  const client = root.createClient({ ...demo.clientOptions, scheduler: clock });
  const series = { ...SERIES, pairAddress: demo.pairs[0] };
  const gateway = createGateway(client, { allow: [series] });
  let asked = 0;
  const fetch = (url, init) => {
    asked += 1;
    return gateway.fetch(new Request(url, init));
  };
  const source = gatewaySource("https://gateway.test", { fetch, scheduler: clock });
  let closes = 0;
  const watch = source
    .candles({ ...series, since: { candles: 20 } })
    .pipe(root.closes())
    .subscribe(() => {
      closes += 1;
    });
  while (asked === 0) await clock.advanceBy(0);
  for (let minutes = 0; minutes < 30; minutes += 1) await clock.advanceBy(60_000);
  const history = source.history({ ...series, count: 5 });
  await clock.advanceBy(10_000);
  watch.unsubscribe();
  await gateway.close();
  await clock.advanceBy(0);
  return [closes, (await history).length, clock.pending];
}

/** FNV-1a. To nine digits, as `Math.exp` and its like differ between engines in the last one. */
function digest(lines) {
  const text = lines.join("\n").replace(/\d+\.\d+(e-?\d+)?/g, (number) => Number(number).toPrecision(9));
  let hash = 2_166_136_261;
  for (const character of text) {
    hash = Math.imul(hash ^ character.codePointAt(0), 16_777_619) >>> 0;
  }
  return hash.toString(16);
}
