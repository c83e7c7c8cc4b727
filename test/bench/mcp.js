// The MCP server: how soon it is ready, what it holds when idle, and how soon it lists models. Beside it the same SDK's
// client needs a process that starts, so `--version` says what of that is Node's.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const ROUNDS = 11;
const CALLS = 20;
const BIN = path.resolve(import.meta.dirname, "../../bin/imggen.cjs");
const home = await mkdtemp(path.join(tmpdir(), "imggen-bench-"));
const env = { PATH: process.env.PATH ?? "", IMGGEN_HOME: home };

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const figures = { version: [], ready: [], first: [], later: [], idleMiB: [] };
for (let round = 0; round < ROUNDS; round++) {
  figures.version.push(await timed(() => execFileSync(process.execPath, [BIN, "--version"], { env })));
  const client = new Client({ name: "bench", version: "1" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, "mcp", "--sandbox"],
    env,
  });
  const listModels = () => client.callTool({ name: "list_models", arguments: {} });
  figures.ready.push(await timed(() => client.connect(transport)));
  figures.first.push(await timed(listModels));
  for (let call = 0; call < CALLS; call++) figures.later.push(await timed(listModels));
  const status = readFileSync(`/proc/${transport.pid}/status`, "utf8");
  figures.idleMiB.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  await client.close();
}
await rm(home, { recursive: true });

const LIMITS = { ready: 300, first: 20, later: 20, idleMiB: 80 };
for (const [name, values] of Object.entries(figures))
  console.log(
    `${name.padEnd(10)} ${median(values).toFixed(1).padStart(7)}${name in LIMITS ? `   at most ${LIMITS[name]}` : ""}`,
  );
