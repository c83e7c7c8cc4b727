import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Certificate } from "./certificate.ts";

/** A request as it arrived, byte for byte where it matters. */
export interface SeenRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body: string;
  /** Milliseconds since the server started. */
  atMs: number;
}

/** What a scripted server does with a request: it has the raw socket, and may refuse, hang, cut, drip or send anything. */
export type Behaviour = (request: SeenRequest, socket: Socket) => void | Promise<void>;

/** What a server does with every request, or what it sends to each. */
export type Answer = Behaviour | Buffer | string;

export function toBehaviour(answer: Answer): Behaviour {
  return typeof answer === "function" ? answer : (_request, socket) => void socket.write(answer);
}

export interface ScriptedServer {
  port: number;
  /** `http://127.0.0.1:PORT`; with a certificate `https://localhost:PORT`. */
  origin: string;
  /** The origin's `/api`, as the base URL. */
  baseUrl: string;
  requests: SeenRequest[];
  /** The requests that would have cost money. */
  submits(): SeenRequest[];
  /** Closes all connections, and keeps listening. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Serves raw HTTP/1.1 on loopback, over TLS where a certificate is given; one behaviour for all requests. */
export async function scriptedServer(answer: Answer, certificate?: Certificate): Promise<ScriptedServer> {
  const behave = toBehaviour(answer);
  const start = performance.now();
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const serve = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    readRequests(socket, (request) => {
      const seen = { ...request, atMs: performance.now() - start };
      requests.push(seen);
      void behave(seen, socket);
    });
  };
  const server = certificate ? createTlsServer(certificate, serve) : createServer(serve);
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy();
  };
  const port = await listenHere(server);
  const origin = certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return {
    port,
    origin,
    baseUrl: `${origin}/api`,
    requests,
    submits: () => requests.filter(({ method }) => method === "POST"),
    dropConnections,
    async close() {
      dropConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Lets a server listen on loopback. @returns the port */
export async function listenHere(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

/** Splits what arrives on a connection into requests with a Content-Length, or none. */
function readRequests(socket: Socket, onRequest: (request: Omit<SeenRequest, "atMs">) => void): void {
  let buffered = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (;;) {
      const end = buffered.indexOf("\r\n\r\n");
      if (end === -1) return;
      const [first = "", ...lines] = buffered.subarray(0, end).toString("latin1").split("\r\n");
      const headers = Object.fromEntries(
        lines.map((line) => {
          const colon = line.indexOf(":");
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
      );
      const length = Number(headers["content-length"] ?? 0);
      if (buffered.length < end + 4 + length) return;
      const body = buffered.subarray(end + 4, end + 4 + length).toString("utf8");
      buffered = buffered.subarray(end + 4 + length);
      const [method = "", target = ""] = first.split(" ");
      onRequest({ method, target, headers, body });
    }
  });
}

/** A whole HTTP/1.1 response as text, with its length. */
export function response(
  status: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Buffer {
  const bytes = Buffer.from(body);
  const lines = Object.entries({ "content-length": String(bytes.length), ...headers });
  const head = [`HTTP/1.1 ${status} Scripted`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), bytes]);
}

/** A JSON response. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Buffer {
  return response(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
}

/** The service's success envelope as a response. */
export function success(data: unknown): Buffer {
  return json({ code: 0, message: "ok", data });
}

/** The service's error envelope as a response. */
export function failure(key: string, status = 200): Buffer {
  return json({ code: -1, message: key }, status);
}

export interface ServiceScript {
  submit?: Answer;
  poll?: Answer;
  file?: Answer;
}

/**
 * A server that plays the whole service, any part of it replaced: by default a submit is accepted at once
 * (`task-1`, `task-2`, …), a poll finds it completed, the file is `image`, and a check of the key finds no such task.
 */
export function scriptedService(
  image: Buffer,
  script: ServiceScript = {},
  certificate?: Certificate,
): Promise<ScriptedServer> {
  let tasks = 0;
  const defaults: Required<ServiceScript> = {
    submit: (_request, socket) => void socket.write(success({ taskId: `task-${++tasks}` })),
    poll: (request, socket) => {
      if (request.target.endsWith("=imggen-key-check"))
        return void socket.write(failure("image_generation.error.unknown_error"));
      const origin = `${certificate ? "https" : "http"}://${request.headers.host}`;
      socket.write(
        success({ status: "completed", resultUrl: `${origin}/files/1.png?signature=s3cret`, errorCode: 0 }),
      );
    },
    file: response(200, image, { "content-type": "image/png" }),
  };
  const parts = { ...defaults, ...script };
  return scriptedServer((request, socket) => {
    if (request.method === "POST") return toBehaviour(parts.submit)(request, socket);
    if (request.target.startsWith("/api/generate-image")) return toBehaviour(parts.poll)(request, socket);
    return toBehaviour(parts.file)(request, socket);
  }, certificate);
}
