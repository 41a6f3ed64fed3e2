import { ContractError } from "pairstream";
import { describe, expect, it } from "vitest";
import { Gateway } from "./gateway.js";

const eventStream = { "content-type": "text/event-stream" };
const hello = (id = "") =>
  `event: hello\n${id === "" ? "" : `id: ${id}\n`}data: {"version":3,"now":null,"heartbeat":1000}\n\n`;

/** An answer in parts as they are asked for; `sent` tells how many characters were. */
function streamed(parts: Iterable<string>) {
  const encoder = new TextEncoder();
  const rest = parts[Symbol.iterator]();
  const told = { sent: 0 };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = rest.next();
      if (done) return controller.close();
      told.sent += value.length;
      controller.enqueue(encoder.encode(value));
    },
  });
  return { response: new Response(body, { headers: eventStream }), told };
}

function* repeated(part: string, times: number): Generator<string> {
  for (let count = 0; count < times; count += 1) yield part;
}

describe("a gateway that means harm", () => {
  it.each([
    ["beyond ASCII", "héllo"],
    ["beyond Latin", "日本"],
    ["a control character", "a\u0001b"],
    ["a deletion", "a\u007fb"],
    ["too long", "x".repeat(201)],
    ["far too long", "x".repeat(1_000_000)],
  ])("names a message with an id that no header can carry: %s", async (_, id) => {
    const gateway = new Gateway();
    gateway.answer = () => new Response(hello(id), { headers: eventStream });
    const { error } = await gateway.receive();
    expect(error).toBeInstanceOf(ContractError);
    expect(error).toMatchObject({ path: ["id"] });
    expect(gateway.timers).toBe(0);
  });

  it("is named its ids again where they are good", async () => {
    const gateway = new Gateway();
    const asked: (string | null)[] = [];
    gateway.answer = (request) => {
      asked.push(request.headers.get("last-event-id"));
      return new Response(hello("c:7 ~"), { headers: eventStream });
    };
    await gateway.receive();
    await gateway.pass(1_000);
    expect(asked).toEqual([null, "c:7 ~"]);
  });

  it("is not asked ten times a second because it says so and hangs up", async () => {
    const gateway = new Gateway();
    gateway.answer = () => new Response(`retry: 0\n\n${hello()}`, { headers: eventStream });
    await gateway.receive();
    await gateway.pass(60_000);
    // 100 ms, doubled each time, up to half a minute.
    expect(gateway.asked.length).toBeLessThan(12);
  });

  it.each([
    ["data lines", "data:\n"],
    ["data lines of old Macs", "data:\r"],
    ["data lines of Windows", "data: x\r\n"],
    ["lines without a colon", "data\n"],
    ["lines of another field", "a\n"],
    ["events", "event: candle\n"],
    ["ids", "id: 1\n"],
  ])("sends very many short %s in one message", async (_, line) => {
    for (const size of [1, 7, 5_000]) {
      const gateway = new Gateway();
      const { response, told } = streamed(
        repeated(line.repeat(size), Math.ceil(5_000_000 / size / line.length)),
      );
      gateway.answer = () => response;
      const seen = await gateway.receive();
      await gateway.settle();
      for (let turn = 0; turn < 2_000 && seen.error === undefined; turn += 1) await gateway.settle();
      expect(seen.error).toBeInstanceOf(ContractError);
      expect(seen.error).toMatchObject({ issue: "a message of more than 1000 lines" });
      expect(told.sent).toBeLessThan(line.length * (1_010 + 3 * size));
    }
  });

  it("may comment as often as it likes, and send any number of messages", async () => {
    const gateway = new Gateway();
    const beats = `${": beat\n".repeat(3_000)}${":\r\n".repeat(3_000)}\r\n`;
    const status = 'event: status\ndata: {"state":"live","failures":0}\n\n';
    const split = [...`${status}`, ...Array.from("\r\n\r\n")];
    const { response } = streamed([hello(), beats, status.repeat(3_000), ...split, beats, status]);
    gateway.answer = () => response;
    const seen = await gateway.receive();
    for (let turn = 0; turn < 50; turn += 1) await gateway.settle();
    expect(seen.error).toBeUndefined();
  });
});
