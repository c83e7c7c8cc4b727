import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import { filesBelow } from "./disk.ts";
import { type Moment, PaidGenerator } from "./paid-generator.ts";
import { type DiskMode, ended, KEY, TrialWorld } from "./trial-world.ts";
import type { Program } from "./try-point.ts";

/** What happens to a program: at one of its file operations, or at a moment of its request. */
export type GeneratorStrike = { at: number; mode: DiskMode } | { moment: Moment };

/** How a command ended. */
export interface GeneratorRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

const QUICK = ["--json", "--poll-interval", "100ms"];
export const PROMPT = "a fox";

/** A home, an output folder and a paid generator, for one try. */
export class GeneratorWorld extends TrialWorld {
  readonly generator = new PaidGenerator();
  /** How many images are asked for: one request each. */
  readonly images: number;
  readonly #recovery: Program["recovery"];

  constructor({ folder, recovery }: Program, images: number) {
    super(folder);
    this.images = images;
    this.#recovery = recovery;
  }

  async close(): Promise<void> {
    await this.generator.close();
    this.removeFolders();
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
      "-n",
      String(this.images),
    ];
    const ofDisk = strike !== null && "at" in strike ? strike : null;
    const child = this.spawn(words, { ...this.#environment(), ...this.watching(ofDisk) });
    const isMomentHere = this.#killAt(child, strike);
    const run = await ended(child);
    this.generator.onMoment = () => false;
    const hasOperation = ofDisk !== null && this.log().operations.length >= ofDisk.at;
    return { ...run, struck: hasOperation || isMomentHere() };
  }

  /** Finishes what can be finished, without the flags of the command that submitted it. */
  resume(): Promise<GeneratorRun> {
    const [argv, env] = [["resume", ...QUICK], this.#environment()];
    return this.#recovery?.run({ argv, env, cwd: this.out }) ?? ended(this.spawn(argv, env));
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
    return this.cleanEnvironment({
      IMGGEN_GENERATOR: this.generator.origin,
      IMGGEN_GENERATOR_KEY: KEY,
    });
  }
}
