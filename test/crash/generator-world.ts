import type { ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import { filesBelow } from "./disk.ts";
import { QUICK, RESUME } from "./scenarios.ts";
import { type DiskMode, ended, KEY, TrialWorld } from "./trial-world.ts";
import type { Program } from "./try-point.ts";

/** What happens to a program: at one of its file operations, or at a moment of its requests, the first time it comes. */
export type GeneratorStrike = { at: number; mode: DiskMode } | { moment: string };

/** A generator of one world, whose ledger is the truth. */
export interface CrashGenerator {
  /** As `IMGGEN_GENERATOR` has it. */
  readonly spec: string;
  /** What a generate says beside its prompt. */
  readonly words: readonly string[];
  /** How many requests for an image came. */
  readonly requests: number;
  /** The images that were made, each unlike the others. */
  readonly made: readonly Buffer[];
  /** Called at each moment of a request. Whether the program is gone: then nothing else is sent. */
  onMoment: (moment: string) => boolean;
  /** Loses all jobs, where it is a server that may. */
  forget(): void;
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** How a command ended. */
export interface GeneratorRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A run that may have been struck. */
export type StruckRun = GeneratorRun & { struck: boolean };

const PROMPT = "a fox";

/** A home, an output folder and a generator, for one try. */
export class GeneratorWorld extends TrialWorld {
  readonly generator: CrashGenerator;
  /** The moments of the last generate, in their order. */
  moments: string[] = [];
  /** How many images are asked for: one request each. */
  readonly images: number;
  readonly #recovery: Program["recovery"];

  constructor({ folder, recovery }: Program, images: number, generator: CrashGenerator) {
    super(folder);
    this.images = images;
    this.generator = generator;
    this.#recovery = recovery;
  }

  async close(): Promise<void> {
    await this.generator.close();
    this.removeFolders();
  }

  /** Generates the images, struck or not, in a process of its own. */
  generate(strike: GeneratorStrike | null = null): Promise<StruckRun> {
    return this.#run(this.#generation(), strike);
  }

  /** Resumes, and is struck too. */
  resumeStruck(strike: GeneratorStrike): Promise<StruckRun> {
    return this.#run(RESUME, strike);
  }

  #generation(): string[] {
    const { words } = this.generator;
    return ["generate", PROMPT, ...words, ...QUICK, "--output", `${this.out}/`, "-n", String(this.images)];
  }

  async #run(words: readonly string[], strike: GeneratorStrike | null): Promise<StruckRun> {
    const before = this.log().operations.length;
    const ofDisk = strike !== null && "at" in strike ? strike : null;
    const child = this.spawn(words, { ...this.#environment(), ...this.watching(ofDisk) });
    const isMomentHere = this.#killAt(child, strike);
    const run = await ended(child);
    this.generator.onMoment = () => false;
    const hasOperation = ofDisk !== null && this.log().operations.length - before >= ofDisk.at;
    return { ...run, struck: hasOperation || isMomentHere() };
  }

  /** Finishes what can be finished, without the flags of the command that submitted it. */
  resume(): Promise<GeneratorRun> {
    const env = this.#environment();
    return this.#recovery?.run({ argv: RESUME, env, cwd: this.out }) ?? ended(this.spawn(RESUME, env));
  }

  /** Changes what every file of the state folder says. */
  rewriteState(from: RegExp, to: string): void {
    const state = path.join(this.home, "state");
    for (const name of filesBelow(state)) {
      const file = path.join(state, name);
      const text = readFileSync(file, "latin1");
      if (from.test(text)) writeFileSync(file, text.replace(from, to), "latin1");
    }
  }

  /** The SHA-256 of every image in the output folder. */
  saved(): string[] {
    const names = filesBelow(this.out).filter((name) => !isDraft(name));
    return names.map((name) => sha256(readFileSync(path.join(this.out, name))));
  }

  /** Temporary files in the output folder. */
  drafts(): string[] {
    return filesBelow(this.out).filter(isDraft);
  }

  #killAt(child: ChildProcess, strike: GeneratorStrike | null): () => boolean {
    let isHere = false;
    this.moments = [];
    this.generator.onMoment = (moment) => {
      this.moments.push(moment);
      if (strike === null || !("moment" in strike) || strike.moment !== moment) return isHere;
      isHere = true;
      child.kill("SIGKILL");
      return true;
    };
    return () => isHere;
  }

  #environment(): Record<string, string> {
    return this.cleanEnvironment({
      IMGGEN_GENERATOR: this.generator.spec,
      IMGGEN_GENERATOR_KEY: KEY,
    });
  }
}

function isDraft(name: string): boolean {
  return path.basename(name).startsWith(".imggen-");
}
