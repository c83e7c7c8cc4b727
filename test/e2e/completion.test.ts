import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { hasScreen, Screen } from "../support/screen.ts";
import { shellIn } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { hasTool } from "../support/tools.ts";

/** A folder with a few files, and an `imggen` whose ledger has one finished task. */
async function workplace() {
  const folder = await temporaryFolder();
  const { env, run } = await shellIn(folder, "http://127.0.0.1:1/api");
  await mkdir(path.join(folder, "pictures"));
  await writeFile(path.join(folder, "prompts.txt"), "a fox\n");
  const { stdout } = await run('imggen generate "a fox; $(id): `ls`" --sandbox --json');
  const taskId: string = JSON.parse(stdout).taskId;
  return { folder, env: { HOME: folder, ...env }, taskId };
}

/** What is typed before TAB, and what the line is after it. `TASK` stands for the task's id. */
const LINES: readonly [typed: string, completed: string][] = [
  ["imggen gen", "imggen generate"],
  ["imggen generate --dry", "imggen generate --dry-run"],
  ["imggen generate 'a fox: x' -m z-im", "imggen generate 'a fox: x' -m z-image"],
  ["imggen generate -m z-image -r 16", "imggen generate -m z-image -r 16:9"],
  ["imggen generate -m z-image -r 16:", "imggen generate -m z-image -r 16:9"],
  ["imggen generate --model=z-image --ratio=16:", "imggen generate --model=z-image --ratio=16:9"],
  ["imggen generate --model=z-i", "imggen generate --model=z-image"],
  ["imggen generate --prompt-file pro", "imggen generate --prompt-file prompts.txt"],
  ["imggen generate --output=pic", "imggen generate --output=pictures/"],
  ["imggen batch --output p", "imggen batch --output pictures/"],
  ["imggen status task", "imggen status TASK"],
  ["imggen config get dai", "imggen config get dailyCredits"],
];

/** A shell as a person has it, and the file that it reads at its start. */
const TERMINAL_SHELLS = [
  { shell: "bash", args: ["--rcfile", "rc", "-i"], rc: "rc", before: "" },
  { shell: "zsh", args: ["-i"], rc: ".zshrc", before: "autoload -U compinit; compinit -u -D\n" },
] as const;

const mustHave = (tool: string) => hasTool(tool) || process.env.CI !== undefined;

describe.each(TERMINAL_SHELLS)("in a real $shell, TAB", ({ shell, args, rc, before }) => {
  it("completes commands, flags, values and files", { timeout: 90_000 }, async (test) => {
    test.skip(!mustHave(shell) || !hasScreen, `${shell} or tmux is not installed`);
    const { folder, env, taskId } = await workplace();
    await writeFile(path.join(folder, rc), `${before}PS1='> '\nsource <(imggen completion ${shell})\n`);
    const screen = await Screen.start(args, { command: shell, columns: 120, cwd: folder, env });
    await screen.shows(/^>/m);
    for (const [typed, completed] of LINES) {
      await screen.type("-l", typed);
      await screen.type("Tab");
      const line = `> ${completed.replace("TASK", taskId)}`;
      await screen.shows(new RegExp(`^${line.replaceAll(/[.$|]/g, "\\$&")}\\s*$`, "m"));
      await screen.type("C-u");
      await screen.type("C-l");
    }
    await screen.type("-l", "exit");
    await screen.type("Enter");
    expect(await screen.end()).toBe(0);
  });
});

describe("in a real fish, TAB", () => {
  it("completes commands, flags, values and files", { timeout: 60_000 }, async (test) => {
    test.skip(!mustHave("fish"), "fish is not installed");
    const { folder, env, taskId } = await workplace();
    for (const [typed, completed] of LINES) {
      const script = `imggen completion fish | source; complete -C ${JSON.stringify(typed)}`;
      const { stdout } = await promisify(execFile)("fish", ["--no-config", "-c", script], {
        cwd: folder,
        env,
      });
      const offered = stdout.split("\n").map((line) => line.split("\t")[0]);
      expect(offered, typed).toContain(completed.replace("TASK", taskId).split(" ").at(-1));
    }
  });
});
