import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";
import { expectNoKeyShown } from "./canary.ts";
import type { ProgramResult } from "./program.ts";

interface Command {
  argv: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
}

interface Answer {
  code: number;
  stdout: Buffer;
  stderr: Buffer;
}

/** As long as a test may take, on a busy machine. */
const PATIENCE_MS = 110_000;

/** A process that runs the built program's commands one after the other, each as if it were alone. */
export class ProgramHost {
  readonly #child: ChildProcess;
  #last: Promise<unknown> = Promise.resolve();
  #commands = 0;

  /** @param program the folder that holds the built program's `bin` and `dist` */
  constructor(program: string) {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, NO_COLOR: "1" };
    const runner = path.join(import.meta.dirname, "program-host.cjs");
    const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
    this.#child = fork(runner, [program], {
      env,
      stdio: [...stdio],
      execArgv: [],
      serialization: "advanced",
    });
    // It ends with this process, and does not keep it from ending.
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** Whether no command is in flight. */
  get isIdle(): boolean {
    return this.#commands === 0;
  }

  /** Runs a command after those that were asked for before. @throws where it does not end */
  async run(command: Command): Promise<ProgramResult> {
    this.#commands += 1;
    const ended = this.#last.then(() => this.#run(command));
    this.#last = ended.catch(() => {});
    return ended.finally(() => {
      this.#commands -= 1;
    });
  }

  async #run({ env, ...command }: Command): Promise<ProgramResult> {
    const start = performance.now();
    const set = Object.entries(env).filter(([, value]) => value !== undefined);
    this.#child.send({ ...command, env: Object.fromEntries(set) });
    const { code, stdout: stdoutBytes, stderr: stderrBytes } = await this.#answer();
    const shown = { stdout: stdoutBytes.toString("utf8"), stderr: stderrBytes.toString("utf8") };
    expectNoKeyShown(shown);
    return { code, signal: null, ...shown, stdoutBytes, elapsedMs: performance.now() - start };
  }

  /** @throws where the process ends, or says nothing for too long */
  #answer(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) =>
        settle(() => reject(new Error(`the program's process ended, ${code}`)));
      const patience = setTimeout(
        () => settle(() => reject(new Error("the program does not end"))),
        PATIENCE_MS,
      );
      const onMessage = (answer: Answer) => settle(() => resolve(answer));
      const settle = (how: () => void) => {
        clearTimeout(patience);
        this.#child.off("exit", onExit).off("message", onMessage);
        how();
      };
      this.#child.on("exit", onExit).on("message", onMessage);
    });
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}
