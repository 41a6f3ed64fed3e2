// On workerd, which calls `test`: viewers of a gateway, at once and one after another.
const PAIR = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
const SERIES = `network=mainnet&pairAddress=${PAIR}&timeframe=1s&currency=usd`;
const ADDRESS = `https://site.example.com/candles?${SERIES}&since.candles=500`;
/** How many candles a viewer waits for: more than may have been on their way when another has left. */
const CANDLES = 3;

class Viewer {
  #response;
  #reader;
  #decoder = new TextDecoder();
  #isReady = false;

  constructor(response) {
    this.#response = response;
    this.#reader = response.body.getReader();
  }

  get status() {
    return this.#response.status;
  }

  /** Waits for candles that happen from now on; gives their number. */
  async watch() {
    let text = "";
    for (;;) {
      const ready = this.#isReady ? 0 : text.indexOf("event: ready\n");
      if (!this.#isReady && ready >= 0) text = text.slice(ready);
      this.#isReady ||= ready >= 0;
      if (this.#isReady && text.split('"live":true').length > CANDLES) return CANDLES;
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`the response has ended after ${text.length} characters`);
      text += this.#decoder.decode(value, { stream: true });
    }
  }

  leave() {
    return this.#reader.cancel();
  }
}

async function shared(come) {
  const [first, second] = [await come(), await come()];
  const together = await Promise.all([first.watch(), second.watch()]);
  await first.leave();
  const alone = await second.watch();
  await second.leave();
  const third = await come();
  const later = await third.watch();
  await third.leave();
  return [...together, alone, later];
}

export default {
  async test(_controller, { SITE }) {
    const come = async () => new Viewer(await SITE.fetch(ADDRESS));
    console.log(`RESULT ${JSON.stringify({ sse: await shared(come) })}`);
  },
};
