// What the benchmarks share: a folder, the service, a program's costs, and the table that says how they compare.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const BIN = fileURLToPath(new URL("../../bin/imggen.cjs", import.meta.url));
const SERVICE = fileURLToPath(new URL("service.js", import.meta.url));
const PEAK_MEMORY = fileURLToPath(new URL("peak-memory.cjs", import.meta.url));

/** Without options of Node's own: Node 20 reads the certificates of NODE_EXTRA_CA_CERTS at every start. */
export const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("NODE_")),
);

/** A folder that is removed when the benchmark ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), "imggen-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts the service; `env` is how the program finds it, and a home of its own. */
export async function startService(taskMs, imageFile, home) {
  const child = spawn(process.execPath, [SERVICE, String(taskMs), imageFile], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = () => child.kill();
  process.once("exit", stop);
  const port = Number(await new Promise((resolve) => child.stdout.once("data", resolve)));
  const origin = `http://127.0.0.1:${port}`;
  const env = { IMGGEN_HOME: home, IMGGEN_API_KEY: "sk-bench", IMGGEN_BASE_URL: `${origin}/api` };
  return { origin, env, stop: () => process.off("exit", stop) && stop() };
}

/**
 * Has the machine hand out memory and take it back: one that has been idle is slow at that, and whoever came first
 * would pay for it.
 */
export function warmMemory(mib) {
  spawnSync(process.execPath, ["-e", `Buffer.alloc(${mib} * 2 ** 20, 1)`]);
}

// `times` tells what the shell's children took, all of theirs included: the same count for every program.
const TIMED = '"$@" >/dev/null; status=$?; times; exit $status';

/**
 * Runs a command to its end. @returns its time, its processor time (user and system, children included) and,
 * for a Node program, the most memory it had. @throws where it fails
 */
export function measure(command, args, { env = {}, cwd } = {}) {
  const peakFile = path.join(process.env.IMGGEN_BENCH_PEAK ?? tmpdir(), `imggen-bench-peak-${process.pid}`);
  const isNode = command === process.execPath;
  const [program, words] = isNode ? [command, ["--require", PEAK_MEMORY, ...args]] : [command, args];
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync("sh", ["-c", TIMED, "sh", program, ...words], {
    env: { ...ENVIRONMENT, ...env, IMGGEN_BENCH_PEAK: peakFile },
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 2 ** 28,
  });
  const wallMs = performance.now() - start;
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stderr.slice(-2000)}`);
  const peakMiB = isNode ? Number(readFileSync(peakFile, "utf8")) / 1024 : Number.NaN;
  if (isNode) rmSync(peakFile);
  return { wallMs, cpuMs: cpuMsOf(stdout), peakMiB };
}

/** The last line of `times`: what the children took, user then system, as `1m2.345s`. */
function cpuMsOf(times) {
  const [last] = times.trim().split("\n").slice(-1);
  const parts = last.matchAll(/(\d+)m([\d.]+)s/g);
  return [...parts].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000,
    0,
  );
}

/** The program itself, measured. */
export function measureImggen(args, options) {
  return measure(process.execPath, [BIN, ...args], options);
}

/** Whether there is such a command to compare with. */
export function isThere(command) {
  return spawnSync(command, ["--version"], { stdio: "ignore" }).status === 0;
}

export function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** A line of the table that has a goal: the figure, and the most or the least it may be. */
export function goal(name, value, { most, least, unit = "", peer = "" }) {
  const reached = most === undefined ? value >= least : value <= most;
  const limit = most === undefined ? `≥ ${least}` : `≤ ${most}`;
  return [name, shown(value, unit), peer, limit + (unit && ` ${unit}`), reached ? "yes" : "NO"];
}

/** A line of the table that is only told. */
export function fact(name, value, unit, peer = "") {
  return [name, shown(value, unit), peer, "", ""];
}

export function shown(value, unit = "") {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit && ` ${unit}`}`;
}

export function printTable(title, rows) {
  const lines = [["", "measured", "beside", "goal", "reached"], ...rows];
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  console.log(`\n${title}.`);
  for (const line of lines) {
    const cells = line.map((cell, column) => cell.padEnd(widths[column]));
    console.log(cells.join("  ").trimEnd());
  }
}
