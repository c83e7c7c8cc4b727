import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expectNoKeyShown } from "./canary.ts";

/** Holds the built program's `bin` and `dist`. */
export const ROOT = path.resolve(import.meta.dirname, "../..");
/** What starts the program that was built. */
export const BIN = path.join(ROOT, "bin/imggen.cjs");

/** What a finished run of the built program left behind. */
export interface ProgramResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  stdoutBytes: Buffer;
  elapsedMs: number;
}

export interface ProgramOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Standard input; absent: closed at once. */
  input?: string | Buffer;
  /** A command that is to start the program, as `nice` would. */
  through?: readonly string[];
  /** The folder that holds the `bin` and `dist` to start; absent: `ROOT`. */
  root?: string;
}

/**
 * NODE_OPTIONS for waits between attempts that are always the shortest, so that six attempts take a moment. Node loads
 * a script in less time than a module.
 */
export const SHORTEST_BACKOFF = `--require ${JSON.stringify(path.join(import.meta.dirname, "shortest-backoff.cjs"))}`;

/** What starts the program of a folder; for that of `ROOT` it may be the single executable that stands in for it. */
function programIn(root = ROOT): string[] {
  const { IMGGEN_BINARY: binary } = process.env;
  if (binary !== undefined && root === ROOT) return [binary];
  return [process.execPath, path.join(root, "bin/imggen.cjs")];
}

/** A single executable loads nothing with --import, but takes an ES module with --require, where it is a file. */
function forExecutable(env: ProgramOptions["env"] = {}): ProgramOptions["env"] {
  const { NODE_OPTIONS: options } = env;
  if (options === undefined) return env;
  const NODE_OPTIONS = options.replace(
    /--import (\S+)/g,
    (_all, hook: string) => `--require ${fileOf(hook)}`,
  );
  return { ...env, NODE_OPTIONS };
}

const DATA = "data:text/javascript,";

/** A module that is given as its text, as a file. */
function fileOf(hook: string): string {
  if (!hook.startsWith(DATA)) return hook;
  const code = decodeURIComponent(hook.slice(DATA.length));
  const folder = path.join(tmpdir(), "imggen-test-hooks");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${createHash("sha256").update(code).digest("hex").slice(0, 16)}.mjs`);
  // In one step: another test may be loading the same.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, code);
  renameSync(draft, file);
  return file;
}

/** Starts the built program in a clean environment: only what a test sets reaches it. */
export function startProgram(args: readonly string[], options: ProgramOptions = {}): ChildProcess {
  const { PATH, HOME } = process.env;
  const program = programIn(options.root);
  const programEnv = program.length === 1 ? forExecutable(options.env) : options.env;
  const env = { PATH, HOME, NO_COLOR: "1", ...programEnv };
  const [command = "", ...words] = [...(options.through ?? []), ...program, ...args];
  return spawn(command, words, { cwd: options.cwd ?? tmpdir(), env, stdio: "pipe" });
}

/** Runs the built program to its end. */
export async function runProgram(
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const child = startProgram(args, options);
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input ?? "");
  return finished(child);
}

/** Waits for a started program and collects its output. Fails if that contains an API key. */
export async function finished(child: ChildProcess): Promise<ProgramResult> {
  const start = performance.now();
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
  const [code, signal] = await once(child, "close");
  const stdoutBytes = Buffer.concat(out);
  const stdout = stdoutBytes.toString("utf8");
  const stderr = Buffer.concat(err).toString("utf8");
  expectNoKeyShown({ stdout, stderr });
  return { code, signal, stdout, stderr, stdoutBytes, elapsedMs: performance.now() - start };
}
