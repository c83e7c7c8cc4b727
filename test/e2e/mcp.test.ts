import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it, onTestFinished } from "vitest";
import { answered } from "../mcp/mcp-world.ts";
import { BIN, finished, runProgram, startProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const FOX = { prompt: "a fox", model: "gamma-image-2", quality: "1K" };

const at = (home: string) => ({ env: { IMGGEN_HOME: home }, cwd: home });

/** An SDK client that has started the built program itself. */
async function startedBy(home: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const env = { PATH: process.env.PATH ?? "", IMGGEN_HOME: home };
  const args = [BIN, "mcp", "--sandbox"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: home }));
  onTestFinished(() => client.close());
  return client;
}

const call = async (client: Client, name: string, args: Record<string, unknown> = {}) =>
  answered(await client.callTool({ name, arguments: args })).document;

describe("imggen mcp in a pipe", () => {
  it("serves two clients at once, on one home: what one has made the other reuses", async () => {
    const home = await temporaryFolder();
    const clients = await Promise.all([startedBy(home), startedBy(home)]);
    const prompts = ["a fox", "an owl"];
    const own = await Promise.all(
      clients.map((client, at) => call(client, "generate_image", { ...FOX, prompt: prompts[at] })),
    );
    expect(own).toMatchObject(
      prompts.map((prompt) => ({ ok: true, request: { prompt }, session: { credits: 0 } })),
    );
    const other = await Promise.all(
      clients.map((client, at) => call(client, "generate_image", { ...FOX, prompt: prompts[1 - at] })),
    );
    expect(other.map(({ taskId }) => taskId)).toEqual(own.map(({ taskId }) => taskId).toReversed());
    for (const each of other) expect(each).toMatchObject({ reused: true, session: { credits: 0 } });
  });

  it("answers what came before its standard input was closed, and ends", async () => {
    const home = await temporaryFolder();
    const call = request(1, "tools/call", { name: "list_models", arguments: {} });
    const input = `${[OPENING, call].join("\n")}\nno message\n`;
    const { code, stdout, stderr } = await runProgram(["mcp", "--sandbox"], { ...at(home), input });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([0, 1]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("ends cleanly when its client is gone, and leaves the task resumable", async () => {
    const { child, home, waits } = await generating();
    const stderr: Buffer[] = [];
    child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
    await waits;
    child.stdout?.destroy();
    child.stdin?.write(`${request(2, "tools/list", {})}\n`);
    const [code] = await once(child, "close");
    expect([code, String(Buffer.concat(stderr))]).toEqual([0, ""]);
    const { stdout } = await runProgram(["history", "--sandbox", "--json"], at(home));
    expect(JSON.parse(stdout)).toMatchObject([{ status: "running", charged: "no" }]);
  });

  it("ends at SIGTERM, as clients send it, and leaves the task resumable", async () => {
    const { child, waits } = await generating();
    const ended = finished(child);
    await waits;
    child.kill("SIGTERM");
    const { code, stdout } = await ended;
    expect(code).toBe(143);
    const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    expect(last.result.structuredContent).toMatchObject({ charged: "no", error: { type: "interrupted" } });
    expect(last.result.structuredContent.next).toContain("get_task");
  });
});

/** A server that generates what takes a minute; `waits` once its task is polled for. */
async function generating() {
  const home = await temporaryFolder();
  await mkdir(path.join(home, "out"));
  const child = startProgram(["mcp", "--sandbox"], at(home));
  const waits = new Promise<void>((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => chunk.includes("Waiting") && resolve());
  });
  const slow = { ...FOX, prompt: "a fox [sandbox:slow=1m]" };
  const params = { name: "generate_image", arguments: slow, _meta: { progressToken: 1 } };
  child.stdin?.write(`${OPENING}\n${request(1, "tools/call", params)}\n`);
  return { child, home, waits };
}

describe("an agent at raw pipes", () => {
  it("is refused before initialize, and answered where a line is longer than 10 MiB; then the server lives on", async () => {
    const home = await temporaryFolder();
    const long = { name: "generate_image", arguments: { ...FOX, prompt: "x".repeat(11 * 1024 * 1024) } };
    const before = request(7, "tools/call", { name: "generate_image", arguments: FOX });
    const after = request(9, "tools/call", { name: "history", arguments: {} });
    const input = `${[before, OPENING, request(8, "tools/call", long), after].join("\n")}\n`;
    const { stdout } = await runProgram(["mcp", "--sandbox"], { ...at(home), input });
    const lines = stdout.trimEnd().split("\n");
    const answers = new Map(lines.map((line) => [JSON.parse(line).id, JSON.parse(line)]));
    expect(answers.get(7).error.message).toContain("initialize first");
    expect(answers.get(8).error.message).toContain("longer than 10 MiB");
    expect(answers.get(9).result.structuredContent).toMatchObject({ ok: true, tasks: [] });
  });

  it("cancels itself alone among equal calls, and 50 answers at once bring no warning of Node's", async () => {
    const home = await temporaryFolder();
    const child = startProgram(["mcp", "--sandbox"], at(home));
    const ended = finished(child);
    const slow = { ...FOX, prompt: "a fox [sandbox:slow=2s]" };
    child.stdin?.write(`${OPENING}\n`);
    for (let id = 1; id <= 50; id++)
      child.stdin?.write(`${request(id, "tools/call", { name: "generate_image", arguments: slow })}\n`);
    for (let id = 1; id < 50; id += 2)
      child.stdin?.write(
        `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } })}\n`,
      );
    let answers = "";
    for await (const chunk of child.stdout ?? []) {
      answers += chunk;
      if (answers.split('"status":"completed"').length > 25) break;
    }
    child.stdin?.end();
    const { stderr } = await ended;
    const documents = answers
      .trimEnd()
      .split("\n")
      .flatMap((line) => JSON.parse(line).result?.structuredContent ?? []);
    expect(documents).toHaveLength(25);
    expect(new Set(documents.map(({ taskId }) => taskId)).size).toBe(1);
    expect(documents.at(-1)).toMatchObject({ ok: true, session: { credits: 0 } });
    expect(stderr).toBe("");
  });
});

const request = (id: number, method: string, params: object) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const OPENING = [
  request(0, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  }),
  JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
].join("\n");
