// What a command costs to start: its time divided by that of an empty script, both on the same Node in the same run.
// On the Node at hand; with --all-nodes also on 22, 24 and 26 from npm, or on those that IMGGEN_BENCH_NODES lists.
import { spawn, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { BIN, ENVIRONMENT, fact, goal, median, printTable, shown, temporaryFolder } from "./measure.js";

const ROUNDS = Number(process.argv.find((word) => /^\d+$/.test(word)) ?? 25);
const MAJORS = [22, 24, 26];
const folder = temporaryFolder();
const empty = path.join(folder, "empty.mjs");
writeFileSync(empty, "");
const env = { ...ENVIRONMENT, IMGGEN_HOME: path.join(folder, "home") };

const PROMPT = ["generate", "a red fox", "--model", "gamma-image-2"];
const COMMANDS = [
  { name: "--version", args: [BIN, "--version"], most: 1.15 },
  { name: "--help", args: [BIN, "--help"], most: 1.15 },
  { name: "models --json", args: [BIN, "models", "--json"], most: 1.4, mostWithoutCache: 1.5 },
  {
    name: "generate --dry-run --json",
    args: [BIN, ...PROMPT, "--dry-run", "--json"],
    most: 1.4,
    mostWithoutCache: 1.5,
  },
];
const WIRE = { name: "generate, submit on the wire", most: 2.5 };
const EXIT = { name: "generate --no-wait, from the reply to the exit", most: 1 };

function nodes() {
  const listed = process.env.IMGGEN_BENCH_NODES?.split(path.delimiter).filter(Boolean);
  if (listed) return listed;
  return process.argv.includes("--all-nodes")
    ? [process.execPath, ...MAJORS.map(install)]
    : [process.execPath];
}

/** The package `node` is a Node of that version. */
function install(major) {
  const prefix = path.join(folder, `node-${major}`);
  const { status } = spawnSync("npm", ["install", "--silent", "--prefix", prefix, `node@${major}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`Node ${major} could not be installed`);
  return path.join(prefix, "node_modules", "node", "bin", "node");
}

function time(node, args) {
  const start = performance.now();
  const { status } = spawnSync(node, args, { env, stdio: "ignore" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}`);
  return performance.now() - start;
}

/** From exec to the first byte of the submit at a server, and from its reply to the exit. */
async function timeToWire(node, server) {
  const { port } = server.address();
  const start = performance.now();
  const child = spawn(node, [BIN, ...PROMPT, "--no-wait"], {
    env: { ...env, IMGGEN_API_KEY: "sk-bench", IMGGEN_BASE_URL: `http://127.0.0.1:${port}/api` },
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const socket = await new Promise((resolve) => server.once("connection", resolve));
  await new Promise((resolve) => socket.once("data", resolve));
  const wireMs = performance.now() - start;
  const body = JSON.stringify({ code: 0, message: "ok", data: { taskId: `task-${Math.random()}` } });
  const replied = performance.now();
  socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await ended;
  const exitMs = performance.now() - replied;
  // A task that was not waited for is unfinished, and the next run would poll it.
  rmSync(path.join(env.IMGGEN_HOME, "state", "tasks", "open"), { recursive: true });
  return { wireMs, exitMs };
}

async function measureOn(node, server) {
  const samples = new Map(
    ["empty", ...[...COMMANDS, WIRE, EXIT].map(({ name }) => name)].map((name) => [name, []]),
  );
  // Twice without counting: files are read for the first time, and newer versions of Node keep compiled code once
  // there is a state folder.
  for (let round = 0; round < 2; round++) {
    await timeToWire(node, server);
    for (const { args } of COMMANDS) time(node, args);
  }
  for (let round = 0; round < ROUNDS; round++) {
    samples.get("empty").push(time(node, [empty]));
    for (const { name, args } of COMMANDS) samples.get(name).push(time(node, args));
    const { wireMs, exitMs } = await timeToWire(node, server);
    samples.get(WIRE.name).push(wireMs);
    samples.get(EXIT.name).push(exitMs);
  }
  return samples;
}

function report(node, samples) {
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
  const base = median(samples.get("empty"));
  // Node 20 keeps no compiled code between runs.
  const hasCache = Number.parseInt(version.slice(1), 10) >= 22;
  const rows = [...COMMANDS, WIRE, EXIT].map(({ name, most, mostWithoutCache = most }) => {
    const ms = median(samples.get(name));
    return goal(name, ms / base, {
      most: hasCache ? most : mostWithoutCache,
      unit: "×",
      peer: shown(ms, "ms"),
    });
  });
  printTable(`Starting on Node ${version}, medians of ${ROUNDS}`, [
    fact("an empty script", base, "ms"),
    ...rows,
  ]);
}

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
for (const node of nodes()) report(node, await measureOn(node, server));
server.close();
