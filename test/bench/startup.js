// What a command costs to start: its time divided by that of an empty script, both measured in the same run.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/imggen.js", import.meta.url));
const ROUNDS = Number(process.argv[2] ?? 25);
const folder = mkdtempSync(path.join(tmpdir(), "imggen-bench-"));
const empty = path.join(folder, "empty.mjs");
writeFileSync(empty, "");
// The caller's own environment: what it does to Node (certificates to load, options) it does to both sides.
const env = { ...process.env, IMGGEN_HOME: path.join(folder, "home") };

const PROMPT = ["generate", "a red fox", "--model", "gamma-image-2"];
const COMMANDS = [
  { name: "an empty script", args: [empty], goal: 1 },
  { name: "--version", args: [BIN, "--version"], goal: 1.2 },
  { name: "--help", args: [BIN, "--help"], goal: 1.3 },
  { name: "models --json", args: [BIN, "models", "--json"], goal: 1.5 },
  { name: "generate --dry-run --json", args: [BIN, ...PROMPT, "--dry-run", "--json"], goal: 2 },
];

function time(args) {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, args, { env, stdio: "ignore" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}`);
  return performance.now() - start;
}

/** From exec to the first byte of the submit at a server. */
async function timeToWire(server) {
  const { port } = server.address();
  const start = performance.now();
  const child = spawn(process.execPath, [BIN, ...PROMPT, "--no-wait"], {
    env: { ...env, IMGGEN_API_KEY: "sk-bench", IMGGEN_BASE_URL: `http://127.0.0.1:${port}/api` },
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const socket = await new Promise((resolve) => server.once("connection", resolve));
  await new Promise((resolve) => socket.once("data", resolve));
  const elapsed = performance.now() - start;
  const body = JSON.stringify({ code: 0, message: "ok", data: { taskId: `task-${Math.random()}` } });
  socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await ended;
  return elapsed;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

const samples = new Map(COMMANDS.map(({ name }) => [name, []]));
const wire = [];
const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
for (const { args } of COMMANDS) time(args);
for (let round = 0; round < ROUNDS; round++) {
  for (const { name, args } of COMMANDS) samples.get(name).push(time(args));
  wire.push(await timeToWire(server));
}
server.close();
rmSync(folder, { recursive: true });

const base = median(samples.get("an empty script"));
const show = (name, ms, goal) =>
  console.log(
    `${name.padEnd(28)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / base).toFixed(2).padStart(5)} ×  goal ${goal}`,
  );
console.log(`Node ${process.versions.node}, medians of ${ROUNDS} rounds`);
for (const { name, goal } of COMMANDS) show(name, median(samples.get(name)), goal);
show("generate, submit on the wire", median(wire), 3);
