import { AuthenticationError, ContractError, HttpError } from "pairstream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { candles, Gateway, statuses, URL_OF_GATEWAY } from "./gateway.js";
import { eventOf } from "./told-market.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("what another attempt cannot mend", () => {
  const eventStream = { "content-type": "text/event-stream" };
  const hello = 'event: hello\ndata: {"version":3,"now":null,"heartbeat":1000}\n\n';

  it.each([
    [400, HttpError],
    [401, AuthenticationError],
    [403, AuthenticationError],
    [404, HttpError],
    [204, HttpError],
    [302, HttpError],
  ])("is a status %i at the first connection", async (status, type) => {
    const gateway = new Gateway();
    gateway.answer = () => new Response(status === 204 ? null : "x".repeat(5_000), { status });
    const { events, error } = await gateway.receive();
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ status, body: status === 204 ? "" : "x".repeat(1_000) });
    expect(gateway.timers).toBe(0);
  });

  it("is an option that the gateway refuses, whenever it says so", async () => {
    const refuse = () =>
      Response.json(
        {
          error: {
            name: "InvalidInputError",
            message: "settle is 5; allowed: 1000",
            parameter: "settle",
            allowed: "1000",
          },
        },
        { status: 400 },
      );
    const refused = {
      name: "InvalidInputError",
      message: "settle is 5; allowed: 1000",
      parameter: "settle",
      allowed: "1000",
    };
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.answer = refuse;
    expect((await gateway.receive()).error).toMatchObject(refused);
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toMatchObject(refused);
    expect(gateway.timers).toBe(0);
  });

  it.each([
    [403, { message: "Not you", allowed: "others" }, "Not you; allowed: others"],
    [410, { message: "Gone \u001b[2J" }, "Gone \\u001b[2J"],
  ])("is told with the sentence of the gateway: %i", async (status, said, sentence) => {
    const gateway = new Gateway();
    const body = JSON.stringify({ error: { name: "HttpError", status, ...said } });
    gateway.answer = () => new Response(body, { status });
    const { error } = await gateway.receive();
    const message = `${sentence} (${URL_OF_GATEWAY} answered with status ${status})`;
    expect(error).toMatchObject({ status, message, body });
  });

  it.each([[401], [403], [400], [410]])("is a status %i later", async (status) => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.answer = () => new Response("no", { status });
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toMatchObject({ status });
  });

  it.each([[404], [500], [502], [408], [425], [429]])("is not a status %i later", async (status) => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.answer = () => new Response("no", { status });
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toBeUndefined();
    gateway.answer = undefined;
    gateway.candles.next(eventOf("new", 1));
    await gateway.pass(2_000);
    expect(candles(seen)).toHaveLength(1);
  });

  it("is an answer of another type at the first connection, and not later", async () => {
    const gateway = new Gateway();
    const html = () => new Response("<html>", { headers: { "content-type": "text/html" } });
    gateway.answer = html;
    const first = await gateway.receive();
    expect(first.error).toMatchObject({ name: "ContractError", issue: expect.stringContaining("text/html") });
    gateway.answer = undefined;
    const seen = await gateway.receive();
    gateway.answer = html;
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toBeUndefined();
    expect(statuses(seen).at(-1)!.lastError).toBeInstanceOf(ContractError);
  });

  it.each([
    ["another version", hello.replace(`"version":3`, `"version":1`), ["hello", "version"]],
    ["a message before hello", "event: ready\ndata: {}\n\n", []],
    ["a second hello", hello + hello, ["hello"]],
    ["a message without a name", "data: 1\n\n", []],
    ["a message of another name", `${hello}event: toString\ndata: {}\n\n`, []],
    ["no JSON", `${hello}event: ready\ndata: {\n\n`, ["ready"]],
    [
      "a missing field",
      `${hello}event: snapshot\ndata: {"from":1,"observedAt":1,"now":null}\n\n`,
      ["snapshot", "keep"],
    ],
    [
      "a value of the wrong kind",
      `${hello}event: status\ndata: {"state":"live","failures":"0"}\n\n`,
      ["status", "failures"],
    ],
  ])("is %s", async (_, text, path) => {
    const gateway = new Gateway();
    gateway.answer = () => new Response(text, { headers: eventStream });
    const { error } = await gateway.receive();
    expect(error).toBeInstanceOf(ContractError);
    expect(error).toMatchObject({ path });
    expect(gateway.timers).toBe(0);
  });

  it("comes after what is good before it", async () => {
    const gateway = new Gateway();
    gateway.answer = async (request) => {
      const response = gateway.channel.respond(request);
      gateway.candles.next(eventOf("new", 1));
      gateway.channel.close();
      return new Response(`${await response.text()}event: odd\ndata: {}\n\n`, { headers: eventStream });
    };
    const { events, error } = await gateway.receive();
    expect(events).toHaveLength(1);
    expect(error).toBeInstanceOf(ContractError);
  });
});
