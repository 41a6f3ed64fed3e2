import { until } from "./servers.js";
import { type Stage, thisSecond } from "./stage.js";

/** Something that goes wrong on a stage; it is over once all followers know what the service says. */
export interface Failure {
  readonly name: string;
  /** Plays it; resolves with when it was mended, by `performance.now()`, where it lasted until someone mended it. */
  play(stage: Stage): Promise<number | undefined>;
}

/** A few of these fill what the system holds for a connection that nobody reads. */
const NOISE = "x".repeat(500_000);

/** In this order: each goes on with the collectors that the one before has left. */
export const ON_ONE_SERVER: readonly Failure[] = [
  {
    name: "the collectors are started twice",
    async play(stage) {
      for (const number of [0, 1]) stage.startCollector(number);
      await stage.oneLeads(4);
      await stage.allAgree();
      return undefined;
    },
  },
  {
    name: "collectors are killed",
    async play(stage) {
      const leader = await stage.oneLeads(4);
      const other = stage.collectors.find((one) => one !== leader)!;
      await Promise.all([stage.killCollector(leader), stage.killCollector(other)]);
      await until("feeds read stalled", () => stage.followers.some(({ state }) => state === "stalled"));
      await stage.oneLeads(2);
      await stage.allAgree();
      return undefined;
    },
  },
  {
    name: "a collector sleeps past its lease",
    async play(stage) {
      const sleeper = await stage.oneLeads(2);
      const other = stage.collectors.find((one) => one !== sleeper)!;
      sleeper.freeze();
      await until("the other one leads", () => other.isLeading);
      await stage.allGoOn();
      sleeper.thaw();
      await until("it stands by", () => sleeper.isLeading === false);
      await stage.allAgree();
      return undefined;
    },
  },
  {
    name: "a subscriber is so slow that the server gives it up",
    async play(stage) {
      const [slow, other] = stage.connections;
      const before = await stage.server.slowClients();
      const noise = slow!.subscribe("noise", { callback: () => {} });
      await slow!.flush();
      stage.way.stopUp();
      await until("the server gives it up", async () => {
        other!.publish("noise", NOISE);
        return (await stage.server.slowClients()) > before;
      });
      noise.unsubscribe();
      stage.way.unstop();
      const mended = performance.now();
      await stage.allAgree();
      return mended;
    },
  },
  {
    name: "the server is killed, and started again with its store",
    async play(stage) {
      await stage.server.end("SIGKILL");
      await until("nothing is heard", () => stage.followers.every(({ state }) => state === "stalled"));
      stage.server.start();
      const mended = performance.now();
      await stage.allAgree();
      return mended;
    },
  },
  {
    name: "a subscriber is away for longer than the history it had asked for",
    async play(stage) {
      const asked = 2_000;
      const late = await stage.follow("two", thisSecond() - asked, [stage.way]);
      await stage.allLive();
      stage.way.cut();
      // What had already come when the way was cut may be told after that.
      await until("more has passed than that", () =>
        stage.followers.some(({ newest }) => newest > late.newest + 2 * asked),
      );
      stage.way.mend();
      const mended = performance.now();
      await stage.allAgree();
      return mended;
    },
  },
];

/** In this order. */
export const ON_A_CLUSTER: readonly Failure[] = [
  {
    name: "the node that leads the stream is killed",
    async play(stage) {
      const leader = await stage.leader();
      await leader.end("SIGKILL");
      await stage.allGoOn();
      await stage.allAgree();
      leader.start();
      return undefined;
    },
  },
  {
    name: "a node is cut off, with the leader and a subscriber",
    async play(stage) {
      const leader = await stage.oneLeads(2);
      const node = await until("the node of the leader", () => stage.serverOf(leader));
      const isOnNode = (_: unknown, at: number) => stage.serverOf(stage.connections[at]!) === node;
      const cutOff = stage.followers.filter(isOnNode);
      node.freeze();
      await until("its followers have noticed", () => cutOff.every(({ state }) => state === "stalled"));
      await stage.allGoOn();
      node.thaw();
      await stage.oneLeads(2);
      await stage.allAgree();
      return undefined;
    },
  },
];
