import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { finished, SHORTEST_BACKOFF } from "../support/program.ts";
import type { ProgramHost } from "../support/program-host.ts";
import type { Double } from "./double.ts";
import { expireLeases } from "./leases.ts";
import { type OperationLog, readOperations } from "./operations.ts";
import { cutPower } from "./power-cut.ts";
import type { Places, Scenario, Step } from "./scenarios.ts";
import { type Stage, type StageStrike, StageWatch } from "./stages.ts";

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

export type Strike =
  | { at: number; mode: DiskMode }
  | ({ at: null; mode: "kill" | "power cut: bytes" | "power cut: names" | "incident" } & StageStrike);

/** How a command ended. */
export interface Run {
  argv: readonly string[];
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Whether it came to what was to happen. */
  struck: boolean;
  /** How many requests the provider had charged before it began. */
  chargedBefore: number;
}

const PRELOAD = path.join(import.meta.dirname, "preload.cjs");
/** No command here has a reason to take longer. */
const PATIENCE_MS = 30_000;

/** A home, an output folder, a provider and the program on trial, for one try of one scenario. */
export class CrashWorld implements Places {
  readonly scenario: Scenario;
  readonly double: Double;
  readonly folder = mkdtempSync(path.join(tmpdir(), "imggen-crash-"));
  readonly home = path.join(this.folder, "home");
  readonly out = path.join(this.folder, "out");
  /** Whether the disk was made to refuse something, and whether for lack of room. */
  diskFailed = false;
  diskFull = false;
  /** Whether the power was cut. */
  powerFailed = false;
  readonly #program: string;
  /** How many operations came before the last power cut: what that left is on the disk for good. */
  #lastCut = 0;

  /** @param program the folder that holds the built program's `bin` and `dist` */
  constructor(scenario: Scenario, program: string) {
    this.scenario = scenario;
    this.#program = program;
    this.double = scenario.provider.double(scenario);
    for (const name of ["home", "out", "limbo"]) mkdirSync(path.join(this.folder, name));
    for (const [name, bytes] of Object.entries(scenario.before))
      writeFileSync(path.join(this.out, name), bytes);
  }

  async open(): Promise<void> {
    await this.scenario.provider.install?.(this.home);
    await this.double.listen();
  }

  async close(): Promise<void> {
    await this.double.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What was done to the disk so far, by all commands that were started. */
  log(): OperationLog {
    return readOperations(path.join(this.folder, "log"));
  }

  /** Runs a command in a process of its own, struck or not. @param killAfter the operation after which it is killed */
  run(argv: readonly string[], strike: Strike | null = null, killAfter?: RegExp): Promise<Run> {
    return this.#run(argv, strike, () => {}, killAfter);
  }

  /** Runs a step, and beside it the other one where it has one. */
  async runStep({ argv, beside }: Step, strike: Strike | null = null): Promise<Run[]> {
    let other: Promise<Run> | null = null;
    const onStage = (stage: Stage) => {
      if (!beside || stage !== beside.when || other) return;
      const { watch } = this.double;
      if (beside.expires) expireLeases(this);
      other = this.begin(beside.step.argv(this)).ended.finally(() => watch.goOn());
    };
    const run = await this.#run(argv(this), strike, onStage);
    return other ? [run, await other] : [run];
  }

  async #run(
    argv: readonly string[],
    strike: Strike | null,
    onStage: (stage: Stage) => void,
    killAfter?: RegExp,
  ): Promise<Run> {
    const before = this.log().operations.length;
    if (strike?.mode === "EIO" || strike?.mode === "ENOSPC") this.diskFailed = true;
    if (strike?.mode === "ENOSPC") this.diskFull = true;
    let child: ChildProcess | null = null;
    const watch = new StageWatch(strike?.at === null ? strike : null, () => child?.kill("SIGKILL"), onStage);
    this.double.watch = watch;
    const chargedBefore = this.double.charges.length;
    child = this.#spawn(argv, this.#watching(diskStrike(strike), killAfter));
    const run = await finish(child, argv, chargedBefore);
    const { operations } = this.log();
    if (strike?.mode.startsWith("power cut")) {
      this.powerFailed = true;
      cutPower(operations.slice(this.#lastCut), strike.mode === "power cut: names");
      this.#lastCut = operations.length;
    }
    const struck = strike?.at ? operations.length - before >= strike.at : watch.struck;
    return { ...run, struck };
  }

  /** Starts a command whose file operations nobody counts: beside others, or for whoever wants to kill it. */
  begin(argv: readonly string[]): { child: ChildProcess; ended: Promise<Run> } {
    const chargedBefore = this.double.charges.length;
    const child = this.#spawn(argv, { NODE_OPTIONS: SHORTEST_BACKOFF });
    return { child, ended: finish(child, argv, chargedBefore) };
  }

  /** Runs a command to its end in the process that recoveries share. */
  async recover(argv: readonly string[], recovery: ProgramHost): Promise<Run> {
    this.double.watch = new StageWatch(null);
    const chargedBefore = this.double.charges.length;
    const result = await recovery.run({ argv, env: this.#environment(), cwd: this.out });
    return { argv, struck: false, chargedBefore, ...result };
  }

  #spawn(argv: readonly string[], more: Record<string, string>): ChildProcess {
    const command = [path.join(this.#program, "bin", "imggen.cjs"), ...argv];
    const env = { ...this.#environment(), ...more };
    return spawn(process.execPath, command, { cwd: this.out, env, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Only what is named here reaches the program. */
  #environment(): Record<string, string> {
    const { provider, hardLinks } = this.scenario;
    return {
      PATH: process.env.PATH ?? "",
      NO_COLOR: "1",
      IMGGEN_HOME: this.home,
      ...provider.environment(this.double.origin),
      ...(!hardLinks && { IMGGEN_CRASH_NO_LINKS: this.out }),
    };
  }

  /** Has the program number its file operations, and be struck at one of them. */
  #watching(strike: { at: number; mode: DiskMode } | null, killAfter?: RegExp): Record<string, string> {
    const [log, limbo] = ["log", "limbo"].map((name) => path.join(this.folder, name));
    const facts = {
      folders: [this.home, this.out],
      log,
      limbo,
      at: null,
      ...strike,
      killAfter: killAfter?.source,
    };
    return { NODE_OPTIONS: `--require ${PRELOAD}`, IMGGEN_CRASH: JSON.stringify(facts) };
  }
}

/** Waits for a command's end, and ends with SIGABRT one that does not. */
async function finish(child: ChildProcess, argv: readonly string[], chargedBefore: number): Promise<Run> {
  const alarm = setTimeout(() => child.kill("SIGABRT"), PATIENCE_MS);
  const result = await finished(child);
  clearTimeout(alarm);
  return { argv, struck: false, chargedBefore, ...result };
}

/** What strikes a file operation: a power cut is a kill, after which its files are changed. */
function diskStrike(strike: Strike | null): { at: number; mode: DiskMode } | null {
  if (strike === null || strike.at === null) return null;
  return strike.mode.startsWith("power cut") ? { at: strike.at, mode: "kill-before" } : strike;
}
