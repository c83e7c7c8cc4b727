import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { clientOf } from "../sandbox/live.ts";
import { counted } from "../support/counted.ts";
import { png } from "../support/images.ts";
import { listenForTest } from "../support/live-server.ts";
import { finished } from "../support/program.ts";
import type { ProgramWorld } from "../support/program-world.ts";
import { pause } from "../support/wait.ts";

/** What becomes of a request. @param number counts all requests, from 1 */
type Behaviour = (reply: () => void, number: number) => void;

/** An OpenAI-compatible server, and how often each task asked it for an image. */
export async function imageServer(behave: Behaviour = (reply) => reply()) {
  const asked = new Map<string, number>();
  const requests = counted();
  let [open, mostOpen] = [0, 0];
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (incoming.method !== "POST") return void outgoing.writeHead(404).end();
    const taskId = String(incoming.headers["x-client-request-id"]);
    asked.set(taskId, (asked.get(taskId) ?? 0) + 1);
    const number = requests.add();
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    outgoing.on("close", () => {
      open -= 1;
    });
    const body = JSON.stringify({ created: 1, data: [{ b64_json: png(1).toString("base64") }] });
    incoming.resume().on("end", () => {
      behave(() => outgoing.writeHead(200, { "content-type": "application/json" }).end(body), number);
    });
  });
  const port = await listenForTest(server);
  const { reached } = requests;
  const url = `http://127.0.0.1:${port}`;
  return { url, asked, reached, count: () => requests.count, mostOpen: () => mostOpen };
}

/** `imggen serve`, once it serves. */
export async function served(world: ProgramWorld, url: string, flags: readonly string[] = []) {
  const args = ["serve", "--generator", url, "--generator-model", "sdxl", ...flags];
  const server = await servedBy(world, args);
  return { ...server, ...clientOf(server.baseUrl, server.apiKey) };
}

/** Polls until a task has ended. */
export async function ended(
  { poll }: Pick<ReturnType<typeof clientOf>, "poll">,
  taskId: string,
  everyMs = 50,
) {
  for (;;) {
    const { data } = (await poll(taskId)).body;
    if (data?.status === "completed" || data?.status === "failed") return data;
    await pause(everyMs);
  }
}

/** A command that serves, once it does. */
export async function servedBy(world: ProgramWorld, args: readonly string[]) {
  const program = world.start([...args, "--json"]);
  const end = finished(program);
  onTestFinished(() => void program.kill("SIGKILL"));
  const line = await new Promise<string>((resolve) =>
    program.stdout?.once("data", (data) => resolve(String(data))),
  );
  const { baseUrl, apiKey } = JSON.parse(line);
  return { program, end, baseUrl: String(baseUrl), apiKey: String(apiKey) };
}
