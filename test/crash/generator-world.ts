import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import { finished } from "../support/program.ts";
import { filesBelow } from "./disk.ts";
import { readOperations } from "./operations.ts";
import { type Moment, PaidGenerator } from "./paid-generator.ts";
import type { Program } from "./try-point.ts";
import type { DiskMode } from "./world.ts";

/** What happens to a program: at one of its file operations, or at a moment of its request. */
export type GeneratorStrike = { at: number; mode: DiskMode } | { moment: Moment };

/** How a command ended. */
export interface GeneratorRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

const PRELOAD = path.join(import.meta.dirname, "preload.cjs");
const PATIENCE_MS = 30_000;
const QUICK = ["--json", "--poll-interval", "100ms"];
export const PROMPT = "a fox";

/** A home, an output folder and a paid generator, for one try. */
export class GeneratorWorld {
  readonly generator = new PaidGenerator();
  readonly folder = mkdtempSync(path.join(tmpdir(), "imggen-crash-"));
  readonly home = path.join(this.folder, "home");
  readonly out = path.join(this.folder, "out");

  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
    for (const name of ["home", "out", "limbo"]) mkdirSync(path.join(this.folder, name));
  }

  async close(): Promise<void> {
    await this.generator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  log() {
    return readOperations(path.join(this.folder, "log"));
  }

  /** Generates an image, struck or not, in a process of its own. */
  async generate(strike: GeneratorStrike | null = null): Promise<GeneratorRun & { struck: boolean }> {
    const words = [
      "generate",
      PROMPT,
      "-m",
      "sdxl",
      ...QUICK,
      "--output",
      `${this.out}/`,
      "--generator-paid",
    ];
    const facts = {
      folders: [this.home, this.out],
      log: path.join(this.folder, "log"),
      limbo: path.join(this.folder, "limbo"),
      ...(strike !== null && "at" in strike && strike),
    };
    const env = {
      ...this.#environment(),
      NODE_OPTIONS: `--require ${PRELOAD}`,
      IMGGEN_CRASH: JSON.stringify(facts),
    };
    const child = this.#spawn(words, env);
    const isMomentHere = this.#killAt(child, strike);
    const run = await finish(child);
    this.generator.onMoment = () => false;
    const hasOperation = strike !== null && "at" in strike && this.log().operations.length >= strike.at;
    return { ...run, struck: hasOperation || isMomentHere() };
  }

  /** Finishes what can be finished, without the flags of the command that submitted it. */
  resume(): Promise<GeneratorRun> {
    const { recovery } = this.#program;
    const [argv, env] = [["resume", ...QUICK], this.#environment()];
    return recovery ? recovery.run({ argv, env, cwd: this.out }) : finish(this.#spawn(argv, env));
  }

  #spawn(words: readonly string[], env: Record<string, string>): ChildProcess {
    const command = [path.join(this.#program.folder, "bin", "imggen.cjs"), ...words];
    return spawn(process.execPath, command, { cwd: this.out, env, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** The SHA-256 of every file in the output folder. */
  saved(): string[] {
    return filesBelow(this.out).map((name) => sha256(readFileSync(path.join(this.out, name))));
  }

  #killAt(child: ChildProcess, strike: GeneratorStrike | null): () => boolean {
    let isHere = false;
    this.generator.onMoment = (moment) => {
      if (strike === null || !("moment" in strike) || strike.moment !== moment) return isHere;
      isHere = true;
      child.kill("SIGKILL");
      return true;
    };
    return () => isHere;
  }

  #environment(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      NO_COLOR: "1",
      IMGGEN_HOME: this.home,
      IMGGEN_GENERATOR: this.generator.origin,
      IMGGEN_GENERATOR_KEY: "sk-crash-5f3e9a7c1b8d2046",
    };
  }
}

/** Waits for a command's end, and ends one that does not. */
async function finish(child: ChildProcess): Promise<GeneratorRun> {
  const alarm = setTimeout(() => child.kill("SIGABRT"), PATIENCE_MS);
  const run = await finished(child);
  clearTimeout(alarm);
  return run;
}
