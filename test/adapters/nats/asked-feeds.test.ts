import { describe, expect, it } from "vitest";
import { AskedFeeds } from "../../../src/adapters/nats/asked-feeds.js";
import {
  checkFeed,
  type FeedRequest,
  readAnswer,
  withVersion,
} from "../../../src/adapters/nats/feed-requests.js";
import type { LeaseBucket } from "../../../src/adapters/nats/lease-bucket.js";
import { VERSION } from "../../../src/adapters/nats/message.js";
import { seriesOf } from "./busy-service.js";

/** One value, written by compare-and-set, that takes its time. */
class FakeBucket {
  text = "";
  revision = 0;
  /** Called between a reading and a writing. */
  meanwhile: () => void = () => {};

  async readAsked() {
    return { text: this.text, revision: this.revision };
  }

  async writeAsked(text: string, revision: number) {
    this.meanwhile();
    if (revision !== this.revision) return undefined;
    this.text = text;
    this.revision += 1;
    return this.revision;
  }
}

function leaderOf(
  bucket: FakeBucket,
  { listed = [], isLeading = () => true }: { listed?: readonly string[]; isLeading?: () => boolean } = {},
) {
  const equipped: string[] = [];
  const troubles: unknown[] = [];
  const asked = new AskedFeeds({
    ...{ bucket: bucket as unknown as LeaseBucket, name: "p", isLeading },
    listed: new Map(listed.map((pair) => [keyOf(pair), checkFeed("p", seriesOf(pair))])),
    equip: async ({ stream }) => void equipped.push(stream),
    trouble: (error) => void troubles.push(error),
  });
  const ask = async (request: FeedRequest) => {
    const { version: _, ...answer } = readAnswer(await asked.answer(withVersion(request))) as never as {
      version: number;
    };
    return answer;
  };
  return {
    ...{ asked, equipped, troubles },
    add: (pair: string) => ask({ add: seriesOf(pair) }),
    remove: (pair: string) => ask({ remove: keyOf(pair) }),
  };
}
const keyOf = (pair: string) => checkFeed("p", seriesOf(pair)).feed.key;

describe("the feeds that a group was asked for", () => {
  it("are stored before anybody works on them, and what two ask for at once is kept of both", async () => {
    const bucket = new FakeBucket();
    const { asked, equipped, add, remove } = leaderOf(bucket);
    expect(await Promise.all([add("a"), add("b"), add("a")])).toEqual([
      { changed: true },
      { changed: true },
      { changed: false },
    ]);
    expect([...asked.feeds.keys()]).toEqual([keyOf("a"), keyOf("b")]);
    expect(new Set(equipped)).toEqual(new Set(["p"]));
    expect(await Promise.all([remove("a"), remove("a")])).toEqual([{ changed: true }, { changed: false }]);
    expect([...asked.feeds.keys()]).toEqual([keyOf("b")]);
  });

  it("are known to the next leader, and kept where two lead for a moment", async () => {
    const bucket = new FakeBucket();
    const [one, other] = [leaderOf(bucket), leaderOf(bucket)];
    await one.add("a");
    await other.asked.learn();
    expect([...other.asked.feeds.keys()]).toEqual([keyOf("a")]);
    let hasCome = false;
    bucket.meanwhile = () => {
      if (hasCome) return;
      hasCome = true;
      // The other one writes between the reading and the writing of this one.
      const { feeds } = JSON.parse(bucket.text);
      bucket.text = JSON.stringify({ ...JSON.parse(bucket.text), feeds: [...feeds, seriesOf("c")] });
      bucket.revision += 1;
    };
    expect(await one.add("b")).toEqual({ changed: true });
    expect([...one.asked.feeds.keys()]).toEqual(["a", "c", "b"].map(keyOf));
  });

  it("are refused by one that does not lead any more, or that others write past all the time", async () => {
    const late = leaderOf(new FakeBucket(), { isLeading: () => false });
    expect(await late.add("a")).toMatchObject({
      changed: false,
      refusal: expect.stringContaining("ask again"),
    });
    expect(late.asked.feeds.size).toBe(0);
    const bucket = new FakeBucket();
    bucket.meanwhile = () => {
      bucket.revision += 1;
    };
    expect(await leaderOf(bucket).add("a")).toMatchObject({ refusal: expect.stringContaining("ask again") });
  });

  it("do not count a feed of the list, and leave that alone", async () => {
    const { add, remove } = leaderOf(new FakeBucket(), { listed: ["a"] });
    expect(await add("a")).toEqual({ changed: false });
    expect(await remove("a")).toMatchObject({ refusal: expect.stringContaining("stands in the list") });
  });

  it("are read without the options that only a later version knows", async () => {
    const bucket = new FakeBucket();
    const { asked, troubles } = leaderOf(bucket);
    const since = { candles: 5, newer: 1 };
    const feeds = [
      { ...seriesOf("a"), since, newer: 1 },
      { pairAddress: "b", newer: 1 },
    ];
    bucket.text = JSON.stringify({ version: VERSION, feeds, newer: 1 });
    await asked.learn();
    expect(troubles).toEqual([]);
    expect([...asked.feeds.values()].map(({ watch }) => watch)).toEqual([
      { ...seriesOf("a"), since: { candles: 5 } },
      { pairAddress: "b" },
    ]);
  });

  it("are written again where they were lost, and stay as they were where nobody can read them", async () => {
    const bucket = new FakeBucket();
    const { asked, add } = leaderOf(bucket);
    await add("a");
    const { text } = bucket;
    Object.assign(bucket, { text: "", revision: 0 });
    await asked.learn();
    expect([bucket.text, bucket.revision]).toEqual([text, 1]);
    bucket.text = "poison";
    await expect(asked.learn()).rejects.toMatchObject({ name: "ContractError" });
    expect(await add("b")).toMatchObject({ changed: false, refusal: expect.any(String) });
    expect([...asked.feeds.keys()]).toEqual([keyOf("a")]);
  });
});
