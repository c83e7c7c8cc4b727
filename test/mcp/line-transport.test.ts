import { PassThrough } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { LineTransport } from "../../src/mcp/line-transport.ts";

const request = (id: number | string, name = "ping") => ({ jsonrpc: "2.0" as const, id, method: name });
const reply = (id: number | string) => ({ jsonrpc: "2.0" as const, id, result: {} });

/** A transport that reads what is written to `input`. @param isRead whether its client reads what it is sent */
async function started(isRead: () => boolean = () => true) {
  const input = new PassThrough();
  const seen = { messages: [] as JSONRPCMessage[], written: [] as object[], errors: [] as string[] };
  const transport = new LineTransport({
    input,
    async write(message) {
      seen.written.push(message);
      return isRead();
    },
  });
  transport.onmessage = (message) => seen.messages.push(message);
  transport.onerror = ({ message }) => seen.errors.push(message);
  await transport.start();
  return { input, transport, ...seen };
}

/** All that a transport makes of these pieces of input. */
async function afterInput(...pieces: (string | Buffer)[]) {
  const { input, transport, ...seen } = await started();
  for (const piece of pieces) input.write(piece);
  input.end();
  await transport.closed;
  return seen;
}

/** Waits until what was written has been read. */
const read = () => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise is fulfilled by now. */
const isFulfilled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);

describe("messages in lines", () => {
  it("arrive whole, whatever pieces they come in", async () => {
    const bytes = Buffer.from(`${JSON.stringify(request(1, "größe"))}\n${JSON.stringify(request(2))}\n`);
    const { messages } = await afterInput(...Array.from(bytes, (byte) => Buffer.of(byte)));
    expect(messages).toEqual([request(1, "größe"), request(2)]);
  });

  it.each([
    ["no JSON", "hello", []],
    ["empty", "", []],
    ["not whole", JSON.stringify(request(1)).slice(0, -1), []],
    ["JSON, and no message", "[1]", ["A line on standard input was not an MCP message, and was ignored."]],
  ])("that are %s are ignored, and the next is read", async (_what, line, expected) => {
    const { messages, errors, written } = await afterInput(`${line}\n${JSON.stringify(request(2))}\n`);
    expect({ messages, errors, written }).toEqual({ messages: [request(2)], errors: expected, written: [] });
  });

  it("that the last line feed is missing from are not read", async () => {
    expect((await afterInput(JSON.stringify(request(1)))).messages).toEqual([]);
  });
});

describe("a line of more than 10 MiB", () => {
  const long = "x".repeat(1024 * 1024);
  const pieces = (start: string, end: string) => [start, ...Array(11).fill(long), `${end}\n`];

  it.each([
    ["at its start", '{"jsonrpc":"2.0","id":7,"params":"', '"}', 7],
    ["at its start, with blanks", ' { "id" : "a-1" , "params":"', '"}', "a-1"],
    ["at its end", '{"params":"', '","id":8}', 8],
    ["nowhere", '{"params":"', '"}', null],
    ["in its text alone", '{"params":"', '\\"id\\":9}"}', null],
  ])("is refused by its id, which is %s", async (_where, start, end, id) => {
    const next = `${JSON.stringify(request(2))}\n`;
    const { messages, written } = await afterInput(...pieces(start, end), next);
    expect(written).toEqual([
      {
        jsonrpc: "2.0",
        id,
        error: {
          code: -32600,
          message: "The line is longer than 10 MiB, and was not read. Nothing was done.",
        },
      },
    ]);
    expect(messages).toEqual([request(2)]);
  });

  it("ends the connection where nobody reads the refusal", async () => {
    const { input, transport } = await started(() => false);
    for (const piece of pieces('{"id":1,"params":"', '"}')) input.write(piece);
    await transport.closed;
  });
});

describe("the end of a connection", () => {
  it("comes with a message that nobody reads", async () => {
    const { transport } = await started(() => false);
    await transport.send(request(1));
    await transport.closed;
  });

  it("comes with input that fails, which is told", async () => {
    const { input, transport, errors } = await started();
    input.destroy(new Error("gone"));
    await transport.closed;
    expect(errors).toEqual(["gone"]);
  });

  it("comes with close, after which input that fails is nobody's concern", async () => {
    const { input, transport, errors } = await started();
    let closed = 0;
    transport.onclose = () => closed++;
    await transport.close();
    input.destroy(new Error("gone"));
    await read();
    expect({ closed, errors }).toEqual({ closed: 1, errors: [] });
  });

  it("can wait until every request is answered, or cancelled", async () => {
    const { input, transport } = await started();
    expect(await isFulfilled(transport.waitUntilAnswered())).toBe(true);
    for (const id of [1, "two"]) input.write(`${JSON.stringify(request(id))}\n`);
    await read();
    const answered = transport.waitUntilAnswered();
    await transport.send(reply(1));
    expect(await isFulfilled(answered)).toBe(false);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "two" } };
    input.write(`${JSON.stringify(cancelled)}\n`);
    await answered;
  });
});

describe("a batch", () => {
  it("is answered by one array, once the last of its requests is", async () => {
    const { input, transport, messages, written } = await started();
    input.write(
      `${JSON.stringify([request(1), { jsonrpc: "2.0", method: "notifications/x" }, request("b")])}\n`,
    );
    await read();
    expect(messages).toHaveLength(3);
    await transport.send(reply("b"));
    expect(written).toEqual([]);
    await transport.send(reply(1));
    expect(written).toEqual([[reply("b"), reply(1)]]);
    expect(await isFulfilled(transport.waitUntilAnswered())).toBe(true);
  });

  it("does not wait for a request that was cancelled", async () => {
    const { input, transport, messages, written } = await started();
    input.write(`${JSON.stringify([request(1), request(2)])}\n`);
    await read();
    expect(messages).toHaveLength(2);
    await transport.send(reply(1));
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } };
    input.write(`${JSON.stringify(cancelled)}\n`);
    await read();
    expect(written).toEqual([[reply(1)]]);
  });

  it("does not wait for a request that is no valid message", async () => {
    const { input, transport, messages, written } = await started();
    input.write(`${JSON.stringify([request(1), { id: 2, method: "ping" }])}\n`);
    await read();
    expect(messages).toHaveLength(1);
    await transport.send(reply(1));
    expect(written).toEqual([[reply(1)]]);
  });

  it("that is empty is refused", async () => {
    expect((await afterInput("[]\n")).written).toMatchObject([{ id: null, error: { code: -32600 } }]);
  });
});

it.each([
  ["parameters", { params: null }, {}],
  ["arguments", { params: { name: "history", arguments: null } }, { params: { name: "history" } }],
])("null for %s stands for none", async (_what, given, expected) => {
  const { messages } = await afterInput(`${JSON.stringify({ ...request(1), ...given })}\n`);
  expect(messages).toEqual([{ ...request(1), ...expected }]);
});
