import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

interface Command {
  argv: readonly string[];
  env: Record<string, string>;
  cwd: string;
}

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const PATIENCE_MS = 30_000;

/** A process that runs the built program's commands one after the other, each as if it were alone. */
export class Recovery {
  readonly #child: ChildProcess;
  #last: Promise<unknown> = Promise.resolve();

  constructor(program: string) {
    const { PATH } = process.env;
    const env = { PATH, NO_COLOR: "1" };
    const runner = path.join(import.meta.dirname, "recovery.cjs");
    this.#child = fork(runner, [program], { env, stdio: "inherit", execArgv: [] });
  }

  /** Runs a command after those that were asked for before. @throws where it does not end */
  run(command: Command): Promise<Ended> {
    const ended = this.#last.then(() => this.#run(command));
    this.#last = ended.catch(() => {});
    return ended;
  }

  async #run(command: Command): Promise<Ended> {
    this.#child.send(command);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const [ended] = await once(this.#child, "message", { signal });
    return ended;
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}
