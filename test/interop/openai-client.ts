import { connect } from "node:net";
import OpenAI, { APIError, type ClientOptions } from "openai";
import { drawn, scriptedProvider } from "../serve/provider-script.ts";
import { liveServer } from "../serve/serve-world.ts";
import { counted } from "../support/counted.ts";
import { liveSockets } from "../support/live-server.ts";

/** A server, and OpenAI's own client of it. */
export async function withOpenAi(live: Parameters<typeof liveServer>[0] = {}) {
  const server = await liveServer(live);
  const { origin } = new URL(server.baseUrl);
  return { ...server, openai: clientFor(server, server.port), origin };
}

/** OpenAI's own client of a server, at its port or that of a proxy before it. */
export function clientFor({ apiKey }: { apiKey: string }, port: number, options: ClientOptions = {}) {
  return new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey, ...options });
}

/** Why a call failed, as OpenAI's client has it. */
export async function failure(call: Promise<unknown>) {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error(`no APIError: ${String(error)}`);
  const { status, type, code, param, message } = error;
  return { status, type, code, param, message };
}

/** A proxy that can cut what goes through it, and go on before another server. `requests` counts those that it has passed on. */
export async function cutting(port: number) {
  const requests = counted();
  const open = new Set<() => void>();
  let target = port;
  const proxyPort = await liveSockets((client) => {
    const server = connect(target, "127.0.0.1");
    const end = () => {
      client.destroy();
      server.destroy();
      open.delete(end);
    };
    open.add(end);
    server.on("error", end).on("close", end);
    client.on("close", end);
    client.on("data", (bytes) => {
      server.write(bytes);
      if (bytes.toString("latin1").startsWith("POST")) requests.add();
    });
    server.pipe(client);
  });
  const cut = (nextPort = target) => {
    target = nextPort;
    for (const end of open) end();
  };
  return { port: proxyPort, requests, cut };
}

/** A provider whose requests are in flight until the test answers them, the oldest first. */
export function heldProvider() {
  const open: (() => void)[] = [];
  const provider = scriptedProvider(async (job, { onSent }) => {
    onSent();
    await new Promise<void>((resolve) => open.push(resolve));
    return drawn(job);
  });
  const answer = async (number: number) => {
    await provider.sent(number);
    open.shift()?.();
  };
  return { provider, answer };
}

/** The first image of a result. */
export function imageOf({ data = [] }: { data?: { b64_json?: string | null }[] | undefined }): Buffer {
  return Buffer.from(data[0]?.b64_json ?? "", "base64");
}
