import { writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { HttpClient } from "../../src/api/client.ts";
import { EarlyConnection } from "../../src/api/early-connection.ts";
import { TransportError } from "../../src/api/exchange.ts";
import { deadPort, liveSockets } from "../support/live-server.ts";
import { runProgram, temporaryFolder } from "../support/program.ts";
import { json } from "../support/scripted-server.ts";

/** A server that answers every request, and shows its connections. @param greet what it does with the first */
async function newServer(greet: (socket: Socket) => void = () => {}) {
  const sockets: Socket[] = [];
  const port = await liveSockets((socket) => {
    if (sockets.push(socket) === 1) greet(socket);
    socket.on("data", () => socket.write(json({})));
  });
  return { sockets, origin: `http://127.0.0.1:${port}` };
}

function newClient(early: EarlyConnection) {
  const client = new HttpClient({ early });
  onTestFinished(() => client.close());
  onTestFinished(() => early.close());
  return client;
}

/** One request with a connection of its own: the status of its answer, or how it broke. */
async function ask(client: HttpClient, origin: string): Promise<number | TransportError> {
  let answer = 0;
  const request = { method: "GET", url: new URL(origin), timeoutMs: 3000, ownConnection: true } as const;
  const onHead = (status: number) => {
    answer = status;
  };
  return client.send(request, { onHead, onData: () => {} }).then(
    () => answer,
    (error) => error,
  );
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 50));

describe("a connection that was opened early", () => {
  it("is there before anything is sent, and is what the first request goes over, and no other", async () => {
    const { sockets, origin } = await newServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    expect(sockets).toHaveLength(1);
    expect(sockets[0]?.bytesRead).toBe(0);
    expect(await ask(client, origin)).toBe(200);
    await turn();
    expect(sockets).toHaveLength(1);
    expect(await ask(client, origin)).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("is waited for where it is not there yet", async () => {
    const { sockets, origin } = await newServer();
    expect(await ask(newClient(new EarlyConnection(new URL(origin))), origin)).toBe(200);
    expect(sockets).toHaveLength(1);
  });

  it("carries one request at a time: another makes a connection of its own", async () => {
    const { sockets, origin } = await newServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    expect(await Promise.all([ask(client, origin), ask(client, origin)])).toEqual([200, 200]);
    expect(sockets).toHaveLength(2);
  });

  it("and was refused is the first request's first try, which was not sent", async () => {
    const origin = `http://127.0.0.1:${await deadPort()}`;
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    const failure = await ask(client, origin);
    expect(failure).toBeInstanceOf(TransportError);
    expect(failure).toMatchObject({ sent: false, cause: { code: "ECONNREFUSED" } });
  });

  it("and closed by the service since is not used", async () => {
    const { sockets, origin } = await newServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    sockets[0]?.end();
    await turn();
    expect(await ask(client, origin)).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("and spoken on by the service, which nobody has asked anything, is not used", async () => {
    const { sockets, origin } = await newServer((socket) =>
      socket.write("HTTP/1.1 408 Request Timeout\r\n\r\n"),
    );
    expect(await ask(newClient(new EarlyConnection(new URL(origin))), origin)).toBe(200);
    expect(sockets).toHaveLength(2);
    expect(sockets[0]?.bytesRead).toBe(0);
  });

  it("is not used for another origin", async () => {
    const [one, other] = [await newServer(), await newServer()];
    const client = newClient(new EarlyConnection(new URL(one.origin)));
    expect(await ask(client, other.origin)).toBe(200);
    await turn();
    expect(one.sockets[0]?.bytesRead).toBe(0);
  });

  it("is closed where nobody needed it", async () => {
    const { sockets, origin } = await newServer();
    const early = new EarlyConnection(new URL(origin));
    await turn();
    const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
    early.close();
    await closed;
  });

  it("and refused is no one's trouble where nobody needed it", async () => {
    const early = new EarlyConnection(new URL(`http://127.0.0.1:${await deadPort()}`));
    await turn();
    early.close();
  });
});

it.each([
  ["a dry run", ["a fox", "--dry-run"]],
  ["a request that the matrix forbids", ["a fox", "--model", "gamma-image-2", "--ratio", "7:5"]],
  ["a cap that is too low", ["a fox", "--model", "gamma-image-2", "--max-credits", "0"]],
])("no connection is opened for %s", async (_what, args) => {
  const { sockets, origin } = await newServer();
  const env = {
    IMGGEN_HOME: await temporaryFolder(),
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${origin}/api`,
  };
  await runProgram(["generate", ...args], { env });
  expect(sockets).toEqual([]);
});

it("a connection is opened for what is in order, before the rest is looked at", async () => {
  const { sockets, origin } = await newServer();
  const env = {
    IMGGEN_HOME: await temporaryFolder(),
    IMGGEN_API_KEY: "sk-test",
    IMGGEN_BASE_URL: `${origin}/api`,
  };
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, "file"), "");
  const { code } = await runProgram(["generate", "a fox", "--output", path.join(folder, "file/below/")], {
    env,
  });
  expect(code).toBe(8);
  expect(sockets).toHaveLength(1);
  expect(sockets[0]?.bytesRead).toBe(0);
});
