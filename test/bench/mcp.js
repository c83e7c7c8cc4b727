// The MCP server: how soon it is ready, what it holds when idle, and how soon it lists models. Beside it the same SDK's
// client needs a process that starts, so `--version` says what of that is Node's.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BIN, fact, goal, measureImggen, median, printTable, temporaryFolder } from "./measure.js";

const ROUNDS = 11;
const CALLS = 20;
const env = { PATH: process.env.PATH ?? "", IMGGEN_HOME: temporaryFolder() };

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const figures = { version: [], ready: [], first: [], later: [], idleMiB: [] };
for (let round = 0; round < ROUNDS; round++) {
  figures.version.push(measureImggen(["--version"], { env }).wallMs);
  const client = new Client({ name: "bench", version: "1" });
  const args = [BIN, "mcp", "--sandbox"];
  const transport = new StdioClientTransport({ command: process.execPath, args, env });
  const listModels = () => client.callTool({ name: "list_models", arguments: {} });
  figures.ready.push(await timed(() => client.connect(transport)));
  figures.first.push(await timed(listModels));
  for (let call = 0; call < CALLS; call++) figures.later.push(await timed(listModels));
  const status = readFileSync(`/proc/${transport.pid}/status`, "utf8");
  figures.idleMiB.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  await client.close();
}

printTable(`The MCP server, medians of ${ROUNDS} starts`, [
  fact("--version", median(figures.version), "ms"),
  goal("ready", median(figures.ready), { most: 300, unit: "ms" }),
  goal("models listed, first call", median(figures.first), { most: 20, unit: "ms" }),
  goal("models listed, later calls", median(figures.later), { most: 20, unit: "ms" }),
  goal("memory when idle", median(figures.idleMiB), { most: 80, unit: "MiB" }),
]);
