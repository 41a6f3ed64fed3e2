import { expect, it } from "vitest";
import { type CollectorActivity, collect } from "../../../src/adapters/nats/index.js";
import { asPairstreamError, Store } from "../../../src/adapters/nats/store.js";
import { createClient, PairstreamError } from "../../../src/index.js";
import { demoService } from "../../../src/service/index.js";
import { ofModel } from "../../simulation/nats/conformance-subject.js";
import { nameOf, V2_10, V2_15, type Version } from "../../simulation/nats/versions.js";

/** What becomes of a message that servers refuse for a reason. */
async function refusedBy(error: { code: number; err_code: number; description: string }) {
  const subject = ofModel(V2_15);
  const [publishing, refusing] = [await subject.connect(), await subject.connect()];
  refusing.subscribe("kept.a", { callback: (_, message) => void message.respond(JSON.stringify({ error })) });
  const store = await subject.settled(Store.open(publishing));
  const reason = await subject.settled(store.publish("kept.a", "text", 0)).catch((cause) => cause);
  return { reason: String(reason), isPassing: store.isPassing(reason) };
}

it.each([
  ["no leader", { code: 503, err_code: 10_008, description: "JetStream system temporarily unavailable" }],
  ["a message that is being stored", { code: 400, err_code: 10_164, description: "wrong last sequence" }],
  ["a stream with too much to do", { code: 429, err_code: 10_167, description: "too many requests" }],
])("a message is sent again after %s", async (_, error) => {
  const { reason, isPassing } = await refusedBy(error);
  expect(reason).toContain(error.description);
  expect(isPassing).toBe(true);
});

it.each([
  [
    "one that is too large",
    { code: 400, err_code: 10_054, description: "message size exceeds maximum allowed" },
  ],
  ["an impossible setting", { code: 500, err_code: 10_052, description: "cannot be so" }],
])("a message is not sent again after %s", async (_, error) => {
  expect((await refusedBy(error)).isPassing).toBe(false);
});

it("an error of the library is told as it is, and any other one as the cause", () => {
  const own = new PairstreamError("own");
  expect(asPairstreamError("It failed", own)).toBe(own);
  const cause = new Error("strange");
  const told = { name: "PairstreamError", message: "It failed: strange", cause };
  expect(asPairstreamError("It failed", cause)).toMatchObject(told);
});

/** The troubles that a collector tells of at its start. */
async function troublesOn(version: Version, replicas: number) {
  const subject = ofModel(version);
  const connection = await subject.connect();
  const { pairs, clientOptions } = demoService({ clock: () => subject.scheduler.now() });
  const client = createClient({ ...clientOptions, scheduler: subject.scheduler });
  const told: CollectorActivity[] = [];
  const collecting = collect(connection, client, [{ pairAddress: pairs[0]! }], { replicas });
  const running = collecting.subscribe((activity) => told.push(activity));
  await subject.until(() => told.some(({ type }) => type === "leading"));
  running.unsubscribe();
  return told.flatMap((activity) => (activity.type === "trouble" ? [String(activity.error)] : []));
}

const V2_9_20 = { major: 2, minor: 9, micro: 20 };
const V2_9_21 = { major: 2, minor: 9, micro: 21 };

it.each(
  [V2_9_21, V2_10, V2_15, { major: 3, minor: 0, micro: 0 }].map(
    (version) => [nameOf(version), version] as const,
  ),
)("collectors trust the lease of a cluster of version %s", async (_, version) => {
  expect(await troublesOn(version, 3)).toEqual([]);
});

it("collectors say so where a cluster is too old to give a lease to one alone", async () => {
  const trouble = expect.stringMatching(
    /^PairstreamError: The servers are of version 2\.9\.20: .* from 2\.9\.21 on /,
  );
  expect(await troublesOn(V2_9_20, 3)).toEqual([trouble]);
  expect(await troublesOn(V2_9_20, 1)).toEqual([]);
});

it.each([
  ["that is gone", Object.assign(new Error("timeout"), { name: "TimeoutError" }), "does not answer"],
  ["without JetStream", Object.assign(new Error("no responders"), { name: "NoResponders" }), "failed"],
  ["that is lost", Object.assign(new Error("disconnected"), { name: "ConnectionError" }), "failed"],
])("collectors tell of a server %s by its name, with what the NATS client said", async (_, failure, said) => {
  const subject = ofModel(V2_15);
  const connection = await subject.connect();
  connection.request = () => Promise.reject(failure);
  const { pairs, clientOptions } = demoService({ clock: () => subject.scheduler.now() });
  const client = createClient({ ...clientOptions, scheduler: subject.scheduler });
  const told: CollectorActivity[] = [];
  const running = collect(connection, client, [{ pairAddress: pairs[0]! }]).subscribe((one) =>
    told.push(one),
  );
  await subject.until(() => told.length > 0);
  running.unsubscribe();
  const error = expect.objectContaining({
    name: "NetworkError",
    message: expect.stringMatching(`^The NATS server model ${said}: .*${failure.message}`),
    cause: expect.any(Error),
  });
  expect(told[0]).toMatchObject({ type: "trouble", error });
});
