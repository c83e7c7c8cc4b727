import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "rolldown";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";

const run = promisify(execFile);
const SERVER = fileURLToPath(new URL("../../src/sandbox/server.ts", import.meta.url));

it("drawing is loaded with the first picture, and no part of it before", async () => {
  const { output } = await build({ input: SERVER, platform: "node", write: false });
  const atStart = output.filter((chunk) => chunk.type === "chunk" && chunk.isEntry);
  const modules = atStart.flatMap((chunk) => (chunk.type === "chunk" ? Object.keys(chunk.modules) : []));
  expect(modules).toContain(SERVER);
  expect(modules.filter((id) => id.includes("/src/painter/"))).toEqual([]);
});

it("a process that has closed its sandbox ends by itself, with its globals untouched", async () => {
  const folder = await temporaryFolder();
  const dir = path.join(folder, "built");
  await build({ input: SERVER, platform: "node", output: { dir, entryFileNames: "server.mjs" } });
  const script = `
    const before = [Request, Response];
    const { startSandbox } = await import(${JSON.stringify(path.join(dir, "server.mjs"))});
    const { baseUrl, close } = await startSandbox({ folder: ${JSON.stringify(folder)} });
    const headers = { authorization: "Bearer sk-a", "content-type": "application/json" };
    const body = JSON.stringify({ prompt: "a fox [sandbox:slow=1h]" });
    const reply = await fetch(baseUrl + "/generate-image", { method: "POST", headers, body });
    await close();
    console.log((await reply.json()).message, Request === before[0], Response === before[1]);
  `;
  const start = performance.now();
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", script]);
  expect([stdout, stderr]).toEqual(["ok true true\n", ""]);
  expect(performance.now() - start).toBeLessThan(60_000);
});
