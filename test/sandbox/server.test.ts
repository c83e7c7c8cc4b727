import { once } from "node:events";
import { mkdir, rename } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { startSandbox } from "../../src/sandbox/server.ts";
import { answer, drain, liveSandbox } from "./live.ts";

/** What a server answers to bytes that no HTTP client would send. */
async function raw(port: number, text: string): Promise<string> {
  const socket = net.connect(port, "127.0.0.1");
  socket.end(text);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  await once(socket, "close");
  return Buffer.concat(chunks).toString();
}

describe("starting and ending", () => {
  it("it listens on loopback, at the port that was asked for", async () => {
    const first = await liveSandbox();
    const { port, folder } = first;
    await first.close();
    const { baseUrl } = await liveSandbox({ port, folder });
    expect(baseUrl).toBe(`http://127.0.0.1:${port}/api`);
  });

  it("a port that is taken is the system's own error, and leaves the other's balances alone", async () => {
    const running = await liveSandbox({ credits: 3 });
    const { folder, port } = running;
    await expect(startSandbox({ folder, port, credits: 500 })).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(await drain(running)).toBe(3);
  });

  it("a folder that is a file is the system's own error", async () => {
    await expect(startSandbox({ folder: "/dev/null/state" })).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  it("credits that cannot be written are the system's own error, and the port is free again", async () => {
    const { folder, accepted, close, port } = await liveSandbox();
    await accepted({ prompt: "a fox" });
    await close();
    const file = path.join(folder, "accounts.json");
    await rename(file, `${file}.away`);
    await mkdir(file);
    await expect(startSandbox({ folder, port, credits: 5 })).rejects.toMatchObject({ code: "EISDIR" });
    await liveSandbox({ folder, port });
  });

  it("it ends at once, with connections that are idle, half sent or in the middle of an image", async () => {
    const { port, made, close } = await liveSandbox({ draw: undefined });
    const idle = net.connect(port, "127.0.0.1");
    const halfSent = net.connect(port, "127.0.0.1");
    for (const socket of [idle, halfSent]) {
      socket.on("error", () => {});
      await once(socket, "connect");
    }
    halfSent.write("POST /api/generate-image HTTP/1.1\r\nHost: localhost\r\nContent-Le");
    const [url = ""] = await made({ prompt: "a fox", quality: "4K" });
    const image = await fetch(url);
    const start = performance.now();
    await Promise.all([close(), close()]);
    // Idle connections alone would keep it for five.
    expect(performance.now() - start).toBeLessThan(4_500);
    await expect(image.arrayBuffer()).rejects.toThrow("terminated");
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});

const get = (target: string, headers = "Host: a\r\n") => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;

describe("what is no request of the API", () => {
  it.each(["/", "/api", "/API/generate-image", "/files", "/files/x", "/%2e%2e/etc/passwd", "/%"])(
    "%s is HTTP 404 without the envelope, as a wrong base URL is",
    async (target) => {
      const { baseUrl } = await liveSandbox();
      const reply = await fetch(new URL(baseUrl).origin + target, {
        headers: { authorization: "Bearer sk-sandbox" },
      });
      expect([reply.status, await reply.text()]).toEqual([404, '{"error":"not found"}']);
    },
  );

  it.each(["PUT", "DELETE", "PATCH", "OPTIONS"])(
    "%s is HTTP 405 with the methods there are",
    async (method) => {
      const { baseUrl } = await liveSandbox();
      const api = await answer(`${baseUrl}/generate-image`, { method });
      expect(api.status).toBe(405);
      expect(api.headers.allow).toBe("GET, POST");
      expect(api.body).toEqual({ code: -1, message: "image_generation.error.invalid_request" });
      const file = await answer(`${new URL(baseUrl).origin}/files/task/0.png`, { method });
      expect([file.status, file.headers.allow]).toEqual([405, "GET"]);
    },
  );

  it.each([
    ["climbs out of the folder", get("/files/../../../etc/passwd"), 404],
    ["climbs out of the folder by a backslash", get("/files/..\\..\\secret/0.png"), 404],
    ["begins with the name of a host", get("//a/api/generate-image?taskId=b"), 404],
    ["begins with what is no host", get("//["), 404],
    ["begins with a backslash", get("/\\a/api/generate-image"), 404],
    ["holds a NUL", get("/files/%00/0.png"), 403],
    ["names no host", "GET /api/generate-image HTTP/1.0\r\n\r\n", 400],
    ["names a host that is none", get("/", "Host: a b\r\n"), 400],
    ["is no HTTP", "\x16\x03\x01\x02\x00hello\r\n\r\n", 400],
    ["has an endless header", get("/", `Host: a\r\nX: ${"x".repeat(70_000)}\r\n`), 431],
    ["is for another protocol", get("/", "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"), 404],
  ])("a request that %s is refused, and the next one is answered", async (_, text, status) => {
    const { port, submit } = await liveSandbox();
    const reply = await raw(port, text.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    expect(reply).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(reply).not.toMatch(/\bat .*:\d+|node_modules|Error:/);
    expect((await submit({ prompt: "a fox" })).body.code).toBe(0);
  });

  it("a header that is sent twice counts as a wrong one", async () => {
    const { port } = await liveSandbox();
    const send = (headers: string) =>
      raw(port, `POST /api/generate-image HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`);
    const [key, type] = ["Authorization: Bearer sk-a\r\n", "Content-Type: application/json\r\n"];
    expect(await send(`${key}Authorization: Bearer sk-b\r\n${type}`)).toContain("login_required");
    expect(await send(`${key}${type}Content-Type: text/plain\r\n`)).toMatch(/^HTTP\/1\.1 415 /);
  });

  it("a client that hangs up in the middle of its body affects no other", async () => {
    const { port, submit } = await liveSandbox();
    const head = "POST /api/generate-image HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer sk-a\r\n";
    await raw(port, `${head}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"prompt":"a`);
    expect((await submit({ prompt: "a fox" })).body.code).toBe(0);
  });
});

describe("the log", () => {
  it("has a line for each request, with the status, what came of it, and no signature", async () => {
    const lines: { method: string; path: string; status: number; note: string | null }[] = [];
    const { accepted, submit, poll, made } = await liveSandbox({
      credits: 50,
      onRequest: ({ isRefused: _, ...line }) => lines.push(line),
    });
    const post = (status: number, note: unknown) => ({
      method: "POST",
      path: "/api/generate-image",
      status,
      note,
    });
    const taskId = await accepted({ prompt: "a fox", model: "gamma-image-2" });
    await poll(taskId);
    await submit({});
    await submit({ prompt: "a fox", model: "delta-Image", ratio: "7:5" });
    await submit({ prompt: "a fox [sandbox:drop]" }).catch(() => undefined);
    await submit({ prompt: "a fox [sandbox:fial]" });
    const [wrongRatio, unknownDirective] = [
      "Ratio 7:5: delta-Image takes only 1:1, 3:2, 2:3",
      "an unknown directive",
    ];
    expect(lines).toEqual([
      post(200, `${taskId} gamma-image-2 "a fox", cost 2, 48 left`),
      { ...post(200, `${taskId} completed`), method: "GET" },
      post(200, "image_generation.error.empty_prompt"),
      post(400, `image_generation.error.invalid_request: ${wrongRatio}`),
      post(0, expect.stringMatching(/, cost 1, 47 left, reply dropped$/)),
      post(200, expect.stringContaining(`, cost 1, 46 left, with ${unknownDirective} in its prompt`)),
    ]);
    const [url = ""] = await made({ prompt: "a fox" });
    await (await fetch(url)).arrayBuffer();
    await expect
      .poll(() => lines.at(-1))
      .toEqual({ method: "GET", path: new URL(url).pathname, status: 200, note: null });
  });

  it("shows the beginning of a long prompt", async () => {
    const notes: (string | null)[] = [];
    const { accepted } = await liveSandbox({ onRequest: ({ note }) => notes.push(note) });
    await accepted({ prompt: "🦊".repeat(1000) });
    expect(notes[0]).toContain(`"${"🦊".repeat(100)}…", cost `);
  });
});
