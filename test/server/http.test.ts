import { createServer, get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createListener, type RequestLine, type ServiceRequest } from "../../src/server/http.ts";
import { refusal } from "../../src/server/reply.ts";
import { readBytes } from "../../src/server/request-body.ts";

const MIB = 1024 ** 2;
/** More than two sockets hold. */
const CHUNKS = 64;

let close = async () => {};
afterEach(() => close());

/** Serves one large image. */
async function imageServer() {
  const seen = { sent: 0, lines: [] as RequestLine[] };
  async function* chunks() {
    for (let at = 0; at < CHUNKS; at++) yield Buffer.alloc(MIB);
  }
  const refused = () => refusal("login_required");
  const file = async () => ({
    kind: "picture" as const,
    chunks: chunks(),
    mediaType: "image/png",
    bytes: CHUNKS * MIB,
    cutShort: false,
    onSent: () => void seen.sent++,
    note: null,
  });
  const server = createServer(
    createListener({ submit: refused, poll: refused, file }, (line) => void seen.lines.push(line)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = async () => void server.close().closeAllConnections();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/files/task/0.png`;
  const open = (method: string) =>
    new Promise<IncomingMessage>((resolve) => get(url, { method, agent: false }, resolve));
  return { seen, open };
}

it("an image counts as sent once a client has taken all of it", async () => {
  const { seen, open } = await imageServer();
  for await (const _chunk of await open("GET"));
  await expect.poll(() => seen.lines).toMatchObject([{ status: 200, note: null }]);
  expect(seen.sent).toBe(1);
});

it("an image does not count as sent to a client that hangs up, or that only asks for its head", async () => {
  const { seen, open } = await imageServer();
  const gone = await open("GET");
  gone.once("data", () => gone.destroy());
  await expect.poll(() => seen.lines).toMatchObject([{ note: "the client disconnected" }]);
  (await open("HEAD")).resume();
  await expect.poll(() => seen.lines).toHaveLength(2);
  expect(seen.sent).toBe(0);
});

it("a body that is too large is refused, and the next request of its connection is answered", async () => {
  const submit = async ({ body }: ServiceRequest) =>
    refusal(
      (await readBytes(body, MIB)) === "too large" ? "login_required" : "my_credits.no_credits_description",
    );
  const server = createServer(createListener({ submit, poll: submit, file: () => Promise.reject() }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = async () => void server.close().closeAllConnections();
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let replies = "";
  client.on("data", (bytes) => (replies += bytes));
  const head =
    "POST /api/generate-image HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer sk-a\r\nContent-Length: ";
  client.write(`${head}${CHUNKS * MIB}\r\n\r\n`);
  client.write(Buffer.alloc(CHUNKS * MIB));
  client.write(`${head}1\r\n\r\n1`);
  await expect
    .poll(() => replies.match(/login_required|no_credits/g))
    .toEqual(["login_required", "no_credits"]);
  client.destroy();
});
