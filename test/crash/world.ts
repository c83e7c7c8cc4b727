import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { SHORTEST_BACKOFF } from "../support/program.ts";
import type { ProgramHost } from "../support/program-host.ts";
import { cutPower } from "./power-cut.ts";
import type { Places, Scenario, Step } from "./scenarios.ts";
import { CrashService } from "./service.ts";
import { type Stage, type StageStrike, StageWatch } from "./stages.ts";
import { type DiskMode, ended, KEY, TrialWorld } from "./trial-world.ts";

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
  /** How many requests the service had charged before it began. */
  chargedBefore: number;
}

/** A home, an output folder and a service, for one try of one scenario. */
export class CrashWorld extends TrialWorld implements Places {
  readonly scenario: Scenario;
  readonly service: CrashService;
  /** Whether the disk was made to refuse something, and whether for lack of room. */
  diskFailed = false;
  diskFull = false;
  /** How many operations came before the last power cut: what that left is on the disk for good. */
  #lastCut = 0;

  /** @param program the folder that holds the built program's `bin` and `dist` */
  constructor(scenario: Scenario, program: string) {
    super(program);
    this.scenario = scenario;
    this.service = new CrashService(scenario);
    for (const [name, bytes] of Object.entries(scenario.before))
      writeFileSync(path.join(this.out, name), bytes);
  }

  async open(): Promise<void> {
    await this.service.listen();
  }

  async close(): Promise<void> {
    await this.service.close();
    this.removeFolders();
  }

  /** Runs a command in a process of its own, struck or not. */
  run(argv: readonly string[], strike: Strike | null = null): Promise<Run> {
    return this.#run(argv, strike, () => {});
  }

  /** Runs a step, and beside it the other one where it has one. */
  async runStep({ argv, beside }: Step, strike: Strike | null = null): Promise<Run[]> {
    let other: Promise<Run> | null = null;
    const onStage = (stage: Stage) => {
      if (!beside || stage !== beside.when || other) return;
      const { watch } = this.service;
      other = this.begin(beside.step.argv(this)).ended.finally(() => watch.goOn());
    };
    const run = await this.#run(argv(this), strike, onStage);
    return other ? [run, await other] : [run];
  }

  async #run(argv: readonly string[], strike: Strike | null, onStage: (stage: Stage) => void): Promise<Run> {
    const before = this.log().operations.length;
    if (strike?.mode === "EIO" || strike?.mode === "ENOSPC") this.diskFailed = true;
    if (strike?.mode === "ENOSPC") this.diskFull = true;
    let child: ChildProcess | null = null;
    const watch = new StageWatch(strike?.at === null ? strike : null, () => child?.kill("SIGKILL"), onStage);
    this.service.watch = watch;
    const chargedBefore = this.service.charges.length;
    child = this.spawn(argv, { ...this.environment(), ...this.watching(diskStrike(strike)) });
    const run = await finish(child, argv, chargedBefore);
    const { operations } = this.log();
    if (strike?.mode.startsWith("power cut")) {
      cutPower(operations.slice(this.#lastCut), strike.mode === "power cut: names");
      this.#lastCut = operations.length;
    }
    const struck = strike?.at ? operations.length - before >= strike.at : watch.struck;
    return { ...run, struck };
  }

  /** Starts a command whose file operations nobody counts: beside others, or for whoever wants to kill it. */
  begin(argv: readonly string[]): { child: ChildProcess; ended: Promise<Run> } {
    const chargedBefore = this.service.charges.length;
    const child = this.spawn(argv, { ...this.environment(), NODE_OPTIONS: SHORTEST_BACKOFF });
    return { child, ended: finish(child, argv, chargedBefore) };
  }

  /** Runs a command to its end in the process that recoveries share. */
  async recover(argv: readonly string[], recovery: ProgramHost): Promise<Run> {
    this.service.watch = new StageWatch(null);
    const chargedBefore = this.service.charges.length;
    const result = await recovery.run({ argv, env: this.environment(), cwd: this.out });
    return { argv, struck: false, chargedBefore, ...result };
  }

  environment(): Record<string, string> {
    return this.cleanEnvironment({
      IMGGEN_API_KEY: KEY,
      IMGGEN_BASE_URL: `${this.service.origin}/api`,
      ...(!this.scenario.hardLinks && { IMGGEN_CRASH_NO_LINKS: this.out }),
    });
  }
}

/** Waits for a command's end. @throws where it does not end */
async function finish(child: ChildProcess, argv: readonly string[], chargedBefore: number): Promise<Run> {
  const result = await ended(child);
  if (result.signal !== "SIGABRT") return { argv, struck: false, chargedBefore, ...result };
  throw new Error(`imggen ${argv.join(" ")} did not end. It said: ${result.stderr}`);
}

/** What strikes a file operation: a power cut is a kill, after which its files are changed. */
function diskStrike(strike: Strike | null): { at: number; mode: DiskMode } | null {
  if (strike === null || strike.at === null) return null;
  return strike.mode.startsWith("power cut") ? { at: strike.at, mode: "kill-before" } : strike;
}
