import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { BIN } from "./program.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTool, mustHaveTool } from "./tools.ts";

/** Whether screens can be read here: tmux is both the pseudo-terminal and the emulator. Where tests decide, it must be. */
export const hasScreen = hasTool("tmux") || (platform() === "linux" && mustHaveTool("tmux"));

export interface ScreenOptions {
  columns: number;
  rows?: number;
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Another copy of the program. */
  program?: string;
  /** What is started with the arguments in place of `imggen`. */
  command?: string;
  /** Whether Ctrl-Z stops the program; `Enter` has it go on, after `bg` behind the shell until the next. */
  canSuspend?: boolean;
}

/** A terminal with the built program on it. What a test reads is what a person sees, not the bytes that led there. */
export class Screen {
  readonly #socket: string;
  readonly #exitCode: string;

  private constructor(folder: string) {
    this.#socket = path.join(folder, "tmux");
    this.#exitCode = path.join(folder, "exit-code");
  }

  /** Starts `imggen` with these arguments; the screen stays after its end. */
  static async start(args: readonly string[], options: ScreenOptions): Promise<Screen> {
    const folder = await temporaryFolder();
    const screen = new Screen(folder);
    onTestFinished(() => screen.#close());
    const { columns, rows = 24, cwd = folder, program: bin = BIN } = options;
    const { PATH, HOME } = process.env;
    const env = {
      PATH,
      HOME,
      TERM: "xterm-256color",
      IMGGEN_HOME: path.join(folder, "home"),
      ...options.env,
    };
    const settings = Object.entries(env).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value}`],
    );
    const config = path.join(folder, "tmux.conf");
    // The window must outlive the program, and nothing but the program may write to it.
    await writeFile(config, "set -g remain-on-exit on\nset -g remain-on-exit-format ''\nset -g status off\n");
    const started = options.command === undefined ? [process.execPath, bin] : [options.command];
    const program = ["env", "-i", ...settings, ...started, ...args];
    // A shell that outlives Ctrl-C: what tmux itself says of a process's end is not always there.
    const script = options.canSuspend ? KEEP_EXIT_CODE_OF_JOB : KEEP_EXIT_CODE;
    const command = ["sh", "-c", script, screen.#exitCode, ...program];
    const size = ["-x", String(columns), "-y", String(rows)];
    // Without LANG it is told to: it would show a question mark for whatever is not ASCII.
    await screen.#tmux("-u", "-f", config, "new-session", "-d", ...size, "-c", cwd, "--", ...command);
    return screen;
  }

  /** Runs `imggen` to its end, and reads what it leaves on the screen. */
  static async after(args: readonly string[], options: ScreenOptions): Promise<string[]> {
    const screen = await Screen.start(args, options);
    await screen.end();
    return screen.lines();
  }

  /** The lines from the first to the last that is not blank, those that have left the screen at the top included. */
  async lines(): Promise<string[]> {
    return textLines(await this.#tmux("capture-pane", "-p", "-S", "-"));
  }

  /** The same with the escape sequences of their colours. */
  async colored(): Promise<string> {
    return this.#tmux("capture-pane", "-p", "-e", "-S", "-");
  }

  /** What a person copies: a line that only the terminal has broken is in one piece. */
  async copied(): Promise<string> {
    const text = await this.#tmux("capture-pane", "-p", "-J", "-S", "-");
    return text.replaceAll(/ +$/gm, "");
  }

  /** Every style and colour on the screen, as the numbers that select them: 1 for bold, 31 for red. */
  async styles(): Promise<Set<number>> {
    const sequences = (await this.colored()).matchAll(/\u001b\[([\d;]*)m/g);
    const numbers = [...sequences].flatMap(([, list = ""]) => list.split(";").map(Number));
    return new Set(numbers.filter((number) => !RESETS.has(number)));
  }

  /** Waits until the screen shows this. @returns its lines then */
  async shows(what: RegExp): Promise<string[]> {
    return until(
      async () => {
        const lines = await this.lines();
        return what.test(lines.join("\n")) ? lines : null;
      },
      async () => `${what} does not come up on the screen:\n${(await this.lines()).join("\n")}`,
    );
  }

  /** Waits until the screen has not changed for a while: a shell has no other sign that it takes keys again. */
  async settles(): Promise<void> {
    let last = "";
    for (let equal = 0; equal < 4; await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))) {
      const text = await this.colored();
      equal = text === last ? equal + 1 : 0;
      last = text;
    }
  }

  /** Types a text as a person would; `Enter` and `C-c` are keys. */
  async type(...keys: readonly string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  /** Whether the cursor can be seen. */
  async hasCursor(): Promise<boolean> {
    return (await this.#tmux("display-message", "-p", "#{cursor_flag}")).trim() === "1";
  }

  async resize(columns: number): Promise<void> {
    await this.#tmux("resize-window", "-x", String(columns));
  }

  /** Waits for the program's end. @returns its exit code */
  async end(): Promise<number> {
    return until(
      async () => {
        const code = await readFile(this.#exitCode, "utf8").catch(() => "");
        if (!code.endsWith("\n")) return null;
        // Only then has the emulator read all that was written.
        const isDead = (await this.#tmux("display-message", "-p", "#{pane_dead}")).trim() === "1";
        return isDead ? Number(code) : null;
      },
      async () => `the program does not end:\n${(await this.lines()).join("\n")}`,
    );
  }

  async #tmux(...args: readonly string[]): Promise<string> {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, TERM: "xterm-256color" };
    return (await promisify(execFile)("tmux", ["-S", this.#socket, ...args], { env })).stdout;
  }

  async #close(): Promise<void> {
    await this.#tmux("kill-server").catch(() => {});
  }
}

/** As after a shell's prompt there are lines above, which a narrower window pushes out at the top in place of ours. */
const KEEP_EXIT_CODE = String.raw`printf '\n\n\n\n'; trap : INT; "$@"; echo $? > "$0"`;

/** The same in a shell that a program can be stopped in. */
const KEEP_EXIT_CODE_OF_JOB = String.raw`printf '\n\n\n\n'; trap : INT; set -m; "$@"; echo Suspended.; read line; if [ "$line" = bg ]; then bg; read line; fi; fg > /dev/null; echo $? > "$0"`;

/** All styles off, the terminal's own foreground and background. */
const RESETS: ReadonlySet<number> = new Set([0, 39, 49]);

function textLines(screen: string): string[] {
  const lines = screen.split("\n").map((line) => line.trimEnd());
  const first = lines.findIndex((line) => line !== "");
  const last = lines.findLastIndex((line) => line !== "");
  return first === -1 ? [] : lines.slice(first, last + 1);
}

const PAUSE_MS = 50;
/** A busy machine takes a while to start a program. */
const PATIENCE_MS = 60_000;

async function until<Value>(
  read: () => Promise<Value | null>,
  complaint: () => Promise<string>,
): Promise<Value> {
  const latestMs = performance.now() + PATIENCE_MS;
  while (performance.now() < latestMs) {
    const value = await read();
    if (value !== null) return value;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  throw new Error(await complaint());
}
