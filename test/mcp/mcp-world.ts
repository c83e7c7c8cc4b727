import { mkdir } from "node:fs/promises";
import path from "node:path";
import { PassThrough } from "node:stream";
import { type CallToolResult, Client, type ClientOptions } from "@modelcontextprotocol/client";
import { expect, onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Matrix } from "../../src/models/matrix.ts";
import { SANDBOX_KEY, startSandbox } from "../../src/sandbox/server.ts";
import { CANARY, expectNoKeyShown } from "../support/canary.ts";
import type { Document } from "../support/command-world.ts";
import { png } from "../support/images.ts";
import { type RunOptions, runAs, runCommand, testContext } from "../support/in-process.ts";
import { liveService } from "../support/live-server.ts";
import { quickClock } from "../support/quick-clock.ts";
import type { ServiceScript } from "../support/scripted-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { PipeTransport } from "./pipe-transport.ts";

type Arguments = Record<string, unknown>;

/** What a tool has answered: its document, and whether it says that it failed. */
export interface Answered {
  isError: boolean;
  /** Everything but the document. */
  more: CallToolResult["content"];
  document: Document;
}

/** An agent's end of one `imggen mcp`, which runs in this process. */
export interface Agent {
  client: Client;
  /** Calls a tool. Where `args` does not say for how long to wait, it waits as long as it may. */
  call(name: string, args?: Arguments, options?: Parameters<Client["callTool"]>[1]): Promise<Answered>;
  /** Closes the server's standard input, and waits for its exit code. */
  leave(): Promise<number>;
  /** All that the server has written to standard error. */
  stderr(): string;
}

export interface AgentOptions extends Pick<RunOptions, "home" | "cwd" | "env" | "signal" | "clock"> {
  /** What follows `imggen mcp`. Default: `--sandbox`. */
  flags?: readonly string[];
  client?: ClientOptions;
}

/** A home and an output folder for agents. */
export async function mcpFolders(): Promise<{ home: string; cwd: string }> {
  const folder = await temporaryFolder();
  const [home, cwd] = [path.join(folder, "home"), path.join(folder, "work")];
  await Promise.all([mkdir(home), mkdir(cwd)]);
  return { home, cwd };
}

/** A task of the sandbox that takes no time, so that no test waits longer than it must. */
export const FOX = { prompt: "a fox [sandbox:slow=0]", model: "gamma-image-2", quality: "1K" };

/** The same, with the account of a sandbox that is addressed by its URL, where images cost what the service asks for. */
export async function accountFolders(matrix?: Matrix) {
  const folders = await mcpFolders();
  const sandbox = await startSandbox({
    folder: path.join(folders.home, "served"),
    latencyMs: 0,
    ...(matrix && { matrix }),
  });
  onTestFinished(() => sandbox.close());
  return { ...folders, env: { IMGGEN_BASE_URL: sandbox.baseUrl, IMGGEN_API_KEY: SANDBOX_KEY } };
}

/** An agent with such an account of its own. */
export async function sandboxAgent(flags: readonly string[] = []) {
  const folders = await accountFolders();
  return { ...folders, ...(await agent({ ...folders, flags })) };
}

/** An agent with an account at a scripted service. @param left prompts that were submitted before, and not waited for */
export async function serviceAgent(script: ServiceScript, left: readonly string[] = [], clock?: Clock) {
  const server = await liveService(png(), script);
  const folders = await mcpFolders();
  const env = { IMGGEN_API_KEY: CANARY, IMGGEN_BASE_URL: server.baseUrl };
  for (const prompt of left)
    await runCommand(["generate", prompt, "-m", "z-image", "--no-wait"], { ...folders, env });
  return { server, ...folders, ...(await agent({ ...folders, flags: [], env, ...(clock && { clock }) })) };
}

/** The tasks that an account was charged for. */
export async function sandboxHistory(folders: Pick<AgentOptions, "home" | "cwd" | "env">) {
  return JSON.parse((await runCommand(["history", "--json"], folders as RunOptions)).stdout);
}

let lastPid = 1000;

/** The tools that wait. */
const WAITING = new Set(["generate_image", "get_task", "resume_tasks"]);

/** A clock whose short waits are over soon, and whose long ones no busy machine is too slow for. */
const patientClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => (ms >= 10_000 ? systemClock : quickClock).sleep(ms, signal),
};

/** Runs `imggen mcp` with an SDK client at its pipes. After the test it is ended, and its output searched for the key. */
export async function agent({
  flags = ["--sandbox"],
  client: options,
  ...world
}: AgentOptions): Promise<Agent> {
  const pid = ++lastPid;
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const shown = { stdout: "", stderr: "" };
  const context = {
    ...testContext({ clock: patientClock, ...world }, pid),
    stdin: toServer,
    stdout: writing((text) => {
      shown.stdout += text;
      toClient.write(text);
    }),
    stderr: writing((text) => (shown.stderr += text)),
  };
  const ended = runAs(pid, ["mcp", ...flags], context);
  const client = new Client({ name: "test", version: "1" }, options);
  const leave = () => {
    toServer.end();
    return ended;
  };
  onTestFinished(async () => {
    await leave();
    expectNoKeyShown(shown);
  });
  await client.connect(new PipeTransport(toClient, toServer));
  return {
    client,
    leave,
    stderr: () => shown.stderr,
    async call(name, args, callOptions) {
      const patient = WAITING.has(name) ? { waitSeconds: 300, ...args } : args;
      const request = { name, arguments: patient ?? {} };
      return answered(await client.callTool(request, { timeout: 110_000, ...callOptions }));
    },
  };
}

/** The one document that a tool's answer holds as text and as an object. */
export function answered({ isError = false, content, structuredContent }: CallToolResult): Answered {
  const [text, ...more] = content;
  if (text?.type !== "text") throw new Error(`no text: ${JSON.stringify(content)}`);
  const document = JSON.parse(text.text);
  expect(structuredContent).toEqual(document);
  return { isError, document, more };
}

function writing(tell: (text: string) => void) {
  return {
    write(data: string | Uint8Array, done: (error?: Error | null) => void) {
      tell(Buffer.from(data).toString());
      done();
      return true;
    },
  };
}
