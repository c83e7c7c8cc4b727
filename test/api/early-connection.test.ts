import { describe, expect, it, onTestFinished, vi } from "vitest";
import { HttpClient } from "../../src/api/client.ts";
import { EarlyConnection } from "../../src/api/connect.ts";
import { TransportError } from "../../src/api/transport.ts";
import { answeringServer } from "../support/answering-server.ts";
import { deadPort } from "../support/live-server.ts";

function newClient(early: EarlyConnection) {
  const client = new HttpClient({ early });
  onTestFinished(() => client.close());
  onTestFinished(() => early.close());
  return client;
}

/** One request with a connection of its own: the status of its answer, or how it broke. */
async function ask(client: HttpClient, origin: string): Promise<number | TransportError> {
  let answer = 0;
  const request = { method: "POST", url: new URL(origin), timeoutMs: 3000 } as const;
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
    const { sockets, origin } = await answeringServer();
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
    const { sockets, origin } = await answeringServer();
    expect(await ask(newClient(new EarlyConnection(new URL(origin))), origin)).toBe(200);
    expect(sockets).toHaveLength(1);
  });

  it("carries one request at a time: another makes a connection of its own", async () => {
    const { sockets, origin } = await answeringServer();
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
    const { sockets, origin } = await answeringServer();
    const client = newClient(new EarlyConnection(new URL(origin)));
    await turn();
    sockets[0]?.end();
    await turn();
    expect(await ask(client, origin)).toBe(200);
    expect(sockets).toHaveLength(2);
  });

  it("that the service has written to before any request is not used", async () => {
    const { sockets, origin } = await answeringServer((socket) =>
      socket.write("HTTP/1.1 408 Request Timeout\r\n\r\n"),
    );
    expect(await ask(newClient(new EarlyConnection(new URL(origin))), origin)).toBe(200);
    expect(sockets).toHaveLength(2);
    expect(sockets[0]?.bytesRead).toBe(0);
    await vi.waitFor(() => expect(sockets[0]?.closed).toBe(true));
  });

  it("is not used for another origin", async () => {
    const [one, other] = [await answeringServer(), await answeringServer()];
    const client = newClient(new EarlyConnection(new URL(one.origin)));
    expect(await ask(client, other.origin)).toBe(200);
    await turn();
    expect(one.sockets[0]?.bytesRead).toBe(0);
  });

  it("is closed where it is not needed", async () => {
    const { sockets, origin } = await answeringServer();
    const early = new EarlyConnection(new URL(origin));
    await turn();
    const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
    early.close();
    await closed;
  });

  it("and refused is not reported where it was not needed", async () => {
    const early = new EarlyConnection(new URL(`http://127.0.0.1:${await deadPort()}`));
    await turn();
    early.close();
  });
});
