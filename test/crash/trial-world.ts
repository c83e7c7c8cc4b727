import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { finished, type ProgramResult } from "../support/program.ts";
import { type OperationLog, readOperations } from "./operations.ts";

/** What a file operation can be struck with; see preload.cjs. A power cut is a kill, and what it takes along. */
export type DiskMode =
  | "kill-before"
  | "kill-after"
  | "half-written"
  | "short"
  | "EIO"
  | "ENOSPC"
  | "power cut: bytes"
  | "power cut: names";

/** The key of every run here. */
export const KEY = "sk-crash-5f3e9a7c1b8d2046";

const PRELOAD = path.join(import.meta.dirname, "preload.cjs");
/** No command here has a reason to take longer. */
const PATIENCE_MS = 30_000;

/** A home, an output folder and the program on trial, for one try. */
export class TrialWorld {
  readonly folder = mkdtempSync(path.join(tmpdir(), "imggen-crash-"));
  readonly home = path.join(this.folder, "home");
  readonly out = path.join(this.folder, "out");
  readonly #program: string;

  /** @param program the folder that holds the built program's `bin` and `dist` */
  constructor(program: string) {
    this.#program = program;
    for (const name of ["home", "out", "limbo"]) mkdirSync(path.join(this.folder, name));
  }

  removeFolders(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What was done to the disk so far, by all commands that were started. */
  log(): OperationLog {
    return readOperations(path.join(this.folder, "log"));
  }

  spawn(argv: readonly string[], env: Record<string, string>): ChildProcess {
    const command = [path.join(this.#program, "bin", "imggen.cjs"), ...argv];
    return spawn(process.execPath, command, { cwd: this.out, env, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** A clean environment: only what is named here, and how the program finds its service, reaches it. */
  cleanEnvironment(service: Record<string, string>): Record<string, string> {
    return { PATH: process.env.PATH ?? "", NO_COLOR: "1", IMGGEN_HOME: this.home, ...service };
  }

  /** Has the program number its file operations, and be struck at one of them. */
  watching(strike: { at: number; mode: DiskMode } | null): Record<string, string> {
    const [log, limbo] = ["log", "limbo"].map((name) => path.join(this.folder, name));
    const facts = { folders: [this.home, this.out], log, limbo, at: null, ...strike };
    return { NODE_OPTIONS: `--require ${PRELOAD}`, IMGGEN_CRASH: JSON.stringify(facts) };
  }
}

/** Waits for a command's end, and ends with SIGABRT one that does not. */
export async function ended(child: ChildProcess): Promise<ProgramResult> {
  const alarm = setTimeout(() => child.kill("SIGABRT"), PATIENCE_MS);
  const result = await finished(child);
  clearTimeout(alarm);
  return result;
}
