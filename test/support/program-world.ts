import type { ChildProcess } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "vitest";
import { FOLDER_ID_FILE } from "../../src/store/batch-folders.ts";
import { inspect } from "../lib/image/builders.ts";
import { CANARY, filesWithKey } from "./canary.ts";
import { PICTURE } from "./images.ts";
import { liveService } from "./live-server.ts";
import {
  type ProgramOptions,
  type ProgramResult,
  ROOT,
  runProgram,
  SHORTEST_BACKOFF,
  startProgram,
} from "./program.ts";
import { ProgramHost } from "./program-host.ts";
import type { ScriptedServer, ServiceScript } from "./scripted-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export { CANARY };

/** The state after the built program has ended: everything that a fault must not damage. */
export interface Aftermath {
  exit: number | NodeJS.Signals | null;
  /** `error.type` of the JSON document; null for a success. */
  type: string | null;
  charged: string | null;
  /** Everything in the output folder, hidden files included; a file that is not a complete image is marked. */
  files: string[];
  /** How often the service was asked to make an image. */
  submits: number;
  /** The last record of each unfinished task, and of each finished one. */
  open: string[];
  done: string[];
}

/** What runs the commands that need no process of their own; all test files of a worker share it. */
let host: ProgramHost | undefined;

/** What the program itself reads of its environment, when a command begins. All else is read when a process starts. */
const READ_BY_COMMAND = /^IMGGEN_|_PROXY$/;

/** A task that is left on purpose is for a process that finds its first one gone. */
const LEAVES_UNFINISHED = /^--(?:no-wait|timeout)$/;

/**
 * Whether a command may run in a process that has run others: it needs nothing that a process gets only when it
 * starts, no other is in flight there, and it leaves nothing behind that the next one is to find abandoned.
 */
function canShare(args: readonly string[], { env = {}, input, through }: ProgramOptions): boolean {
  if (args.some((arg) => LEAVES_UNFINISHED.test(arg))) return false;
  const { NODE_OPTIONS, ...others } = env;
  const set = Object.keys(others).filter((name) => others[name] !== undefined);
  const isPlain = NODE_OPTIONS === SHORTEST_BACKOFF && set.every((name) => READ_BY_COMMAND.test(name));
  return isPlain && input === undefined && through === undefined && host?.isIdle !== false;
}

/** A home, an output folder, and the built program between them and one service. */
export class ProgramWorld<Service extends ScriptedServer | null = ScriptedServer | null> {
  readonly folder: string;
  readonly home: string;
  readonly out: string;
  readonly server: Service;
  readonly env: Record<string, string | undefined>;

  constructor(folder: string, server: Service, env: Record<string, string | undefined>) {
    this.folder = folder;
    this.home = path.join(folder, "home");
    this.out = path.join(folder, "out");
    this.server = server;
    this.env = {
      IMGGEN_HOME: this.home,
      IMGGEN_API_KEY: CANARY,
      IMGGEN_BASE_URL: server?.baseUrl,
      // A test of the waits themselves sets it to undefined.
      NODE_OPTIONS: SHORTEST_BACKOFF,
      ...env,
    };
  }

  /**
   * Runs a command to its end, in the process that such commands share where it can: to start one costs four times
   * what a command does. How a process ends is not seen there; `start` always gives one of its own.
   */
  run(args: readonly string[], options: ProgramOptions = {}): Promise<ProgramResult> {
    const whole = this.#options(options);
    if (!canShare(args, whole)) return runProgram(args, whole);
    host ??= new ProgramHost(ROOT);
    return host.run({ argv: args, env: whole.env ?? {}, cwd: whole.cwd ?? this.out });
  }

  /** Writes a manifest of prompts, beside the output folder. @returns its path */
  async manifest(prompts: readonly string[], name = "p.txt"): Promise<string> {
    const file = path.join(this.folder, name);
    await writeFile(file, prompts.join("\n"));
    return file;
  }

  start(args: readonly string[], options: ProgramOptions = {}): ChildProcess {
    return startProgram(args, this.#options(options));
  }

  /** `imggen generate "a fox" --json` into the output folder. */
  generate(flags: readonly string[] = [], options: ProgramOptions = {}): Promise<ProgramResult> {
    return this.run(this.generateArgs(flags), options);
  }

  generateArgs(flags: readonly string[] = []): string[] {
    const quick = ["--poll-interval", "100ms"];
    const output = flags.includes("--output") ? [] : ["--output", `${this.out}/`];
    return ["generate", "a fox", "--json", ...quick, ...output, ...flags];
  }

  resume(flags: readonly string[] = [], options: ProgramOptions = {}): Promise<ProgramResult> {
    return this.run(["resume", "--json", "--poll-interval", "100ms", ...flags], options);
  }

  /** The state after `generate` with these flags. */
  async afterGenerate(flags?: readonly string[], options?: ProgramOptions): Promise<Aftermath> {
    return this.aftermath(await this.generate(flags, options));
  }

  /** The state after `resume` with these flags. */
  async afterResume(flags?: readonly string[], options?: ProgramOptions): Promise<Aftermath> {
    return this.aftermath(await this.resume(flags, options));
  }

  #options(options: ProgramOptions): ProgramOptions {
    return { cwd: this.out, ...options, env: { ...this.env, ...options.env } };
  }

  /** The state after a run. Fails if the key leaked or a stack trace was shown. */
  async aftermath(result: ProgramResult): Promise<Aftermath> {
    expect(this.leaks(result), "places where the API key turned up").toEqual([]);
    expect(result.stderr).not.toMatch(/^\s+at .+:\d+:\d+\)?$/m);
    const json = result.stdout.startsWith("{") ? JSON.parse(result.stdout) : {};
    return {
      exit: result.code ?? result.signal,
      type: json.error?.type ?? null,
      charged: json.charged ?? null,
      files: await this.files(),
      submits: this.server?.submits().length ?? 0,
      ...(await this.ledger()),
    };
  }

  async files(): Promise<string[]> {
    // The id of a batch's folder belongs there.
    const names = (await readdir(this.out, { recursive: true }))
      .filter((name) => name !== FOLDER_ID_FILE)
      .sort();
    return Promise.all(names.map((name) => describeFile(this.out, name)));
  }

  async ledger(): Promise<{ open: string[]; done: string[] }> {
    const [open, done] = await Promise.all(["open", "done"].map((part) => this.records(part)));
    const isStep = ({ type }: LedgerLine) => type !== "released" && type !== "taken";
    const types = (tasks: LedgerLine[][] = []) =>
      tasks.map((lines) => lines.findLast(isStep)?.type ?? "nothing");
    return { open: types(open), done: types(done) };
  }

  /** The whole lines of every task in `open` or `done`, oldest task first, and those of its parts in their order. */
  async records(where: string): Promise<LedgerLine[][]> {
    const folder = (name: string) => path.join(this.home, "state", "tasks", name);
    const filesIn = async (name: string) => {
      const names = await readdir(folder(name), { recursive: true }).catch(() => []);
      return names.filter((each) => each.endsWith(".jsonl")).map((each) => path.join(folder(name), each));
    };
    const idOf = (file: string) => path.basename(file).split(".")[0] ?? "";
    const partOf = (file: string) => Number(path.basename(file).split(".")[1]);
    const further = (await filesIn("parts")).sort((a, b) => partOf(a) - partOf(b));
    const tasks = (await filesIn(where)).sort((a, b) => (path.basename(a) < path.basename(b) ? -1 : 1));
    return Promise.all(
      tasks.map(async (first) => {
        const parts = [first, ...further.filter((file) => idOf(file) === idOf(first))];
        const texts = await Promise.all(parts.map((file) => readFile(file, "utf8")));
        return texts.flatMap((text) => text.split("\n").slice(0, -1).map(parseLine));
      }),
    );
  }

  /** Where the key was found and must not be: output, any file but the settings, and any request's body or URL. */
  leaks(result: Pick<ProgramResult, "stdout" | "stderr">): string[] {
    const found = filesWithKey(this.folder);
    if (result.stdout.includes(CANARY)) found.push("standard output");
    if (result.stderr.includes(CANARY)) found.push("standard error");
    for (const { target, body, headers } of this.server?.requests ?? []) {
      if (target.includes(CANARY) || body.includes(CANARY)) found.push(`request ${target}`);
      const isFile = !target.startsWith("/api/");
      if (isFile && JSON.stringify(headers).includes(CANARY)) found.push(`headers of ${target}`);
    }
    return found;
  }
}

interface LedgerLine {
  type: string;
  [field: string]: unknown;
}

function parseLine(line: string): LedgerLine {
  try {
    return JSON.parse(line);
  } catch {
    return { type: "torn" };
  }
}

async function describeFile(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  const entry = await stat(file).catch(() => null);
  if (entry?.isDirectory()) return `${name}/`;
  if (!entry?.isFile()) return `${name} (no file)`;
  return (await inspect(await readFile(file))).ok ? name : `${name} (no image)`;
}

/** A world of its own for one test, gone after it. */
export async function programWorld<Service extends ScriptedServer | null>(
  server: Service,
  env: Record<string, string | undefined> = {},
): Promise<ProgramWorld<Service>> {
  const world = new ProgramWorld(await temporaryFolder(), server, env);
  await mkdir(world.home);
  await mkdir(world.out);
  return world;
}

/** A world of its own for one test, with a service that does as its script says. */
export async function serviceWorld(
  script: ServiceScript = {},
  env: Record<string, string | undefined> = {},
): Promise<{ server: ScriptedServer; world: ProgramWorld<ScriptedServer> }> {
  const server = await liveService(PICTURE, script);
  return { server, world: await programWorld(server, env) };
}

/** After a successful run: one image, charged once, its task file in `done`. */
export const SAVED: Aftermath = {
  exit: 0,
  type: null,
  charged: "yes",
  files: ["a-fox-task1.png"],
  submits: 1,
  open: [],
  done: ["saved"],
};

/** Of a run that ended before there was anything to charge, or to record. */
export const NOTHING_CHARGED = { charged: "no", files: [], submits: 0, open: [], done: [] };

/** Nothing was sent, and the ledger says so. */
export const NOT_SENT: Aftermath = { ...NOTHING_CHARGED, exit: 7, type: "network", done: ["not_sent"] };

/** Charged and not saved yet: `imggen resume` finishes it. */
export const PENDING: Aftermath = {
  exit: 6,
  type: "pending",
  charged: "yes",
  files: [],
  submits: 1,
  open: ["accepted"],
  done: [],
};

/** The request may or may not have been accepted, and is never sent again. */
export const UNKNOWN: Aftermath = {
  ...PENDING,
  exit: 9,
  type: "outcome_unknown",
  charged: "unknown",
  open: ["unknown"],
};

/** The service refused before anything was charged. */
export function refused(exit: number, type: string): Aftermath {
  return { ...PENDING, exit, type, charged: "no", open: [], done: ["refused"] };
}

/** Charged and completed at the service, but not saved. */
export const NOT_SAVED: Aftermath = { ...PENDING, exit: 8, type: "save_failed", open: ["completed"] };
