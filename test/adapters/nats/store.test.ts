import { expect, it } from "vitest";
import { Store } from "../../../src/adapters/nats/store.js";
import { ofModel } from "../../simulation/nats/conformance-subject.js";
import { V2_15 } from "../../simulation/nats/servers.js";

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
