import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { COMPLETE_COMMAND } from "../../src/cli/session/command.ts";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { BIN } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { success } from "../support/scripted-server.ts";
import { shellIn } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { mustHaveTool } from "../support/tools.ts";

/** A folder with a few files, and an `imggen` whose ledger has one finished task. */
async function workplace() {
  const folder = await temporaryFolder();
  const { env, run } = await shellIn(folder, "http://127.0.0.1:1/api");
  await mkdir(path.join(folder, "pictures"));
  for (const name of ["prompts.txt", "prices.md"]) await writeFile(path.join(folder, name), "a fox\n");
  const { stdout } = await run('imggen generate "a fox; $(id): `ls`" --sandbox --json');
  const taskId: string = JSON.parse(stdout).taskId;
  return { folder, env: { HOME: folder, ...env }, taskId };
}

const COMMAND = "$(touch owned)";

/** Notes each completion that has ended. */
const LAUNCHER = `#!/bin/sh
node "${BIN}" "$@"; code=$?
[ "$1" = ${COMPLETE_COMMAND} ] && echo >> "$HOME/completed"
exit $code
`;

/** A service, a file of models and a folder whose names are commands. */
async function hostilePlace() {
  const folder = await temporaryFolder();
  const server = await liveService(PICTURE, {
    submit: (_request, socket) => void socket.write(success({ taskId: COMMAND })),
  });
  const { env, run } = await shellIn(folder, server.baseUrl);
  await writeFile(path.join(folder, "models.json"), JSON.stringify([{ id: "$(>owned)" }]));
  await mkdir(path.join(folder, `${COMMAND} pictures`));
  await writeFile(path.join(folder, `${COMMAND}.csv`), "prompt\n");
  await run("imggen generate 'a fox' --no-wait && imggen config set matrix models.json");
  await writeFile(path.join(folder, "bin/imggen"), LAUNCHER);
  const completions = () => readFile(path.join(folder, "completed"), "utf8").catch(() => "");
  return { folder, env: { HOME: folder, ...env }, completions };
}

/**
 * What is typed before TAB, and what the line is after it. `TASK` stands for the task's id. What is offered is the same in
 * every shell; here it is how a shell splits a line, quotes and adds a space.
 */
const LINES: readonly [typed: string, completed: string][] = [
  ["imggen gen", "imggen generate"],
  ["imggen generate 'a fox: x' -m z-im", "imggen generate 'a fox: x' -m z-image"],
  ["imggen generate -m z-image -r 16:", "imggen generate -m z-image -r 16:9"],
  ["imggen generate --model=z-image --ratio=16:", "imggen generate --model=z-image --ratio=16:9"],
  ["imggen generate --prompt-file pro", "imggen generate --prompt-file prompts.txt"],
  ["imggen generate --output=pic", "imggen generate --output=pictures/"],
  ["imggen batch pr", "imggen batch prompts.txt"],
  ["imggen show task", "imggen show TASK"],
];

/** A shell as a person has it, and what it reads at its start. */
const SHELLS: Record<string, { args: string[]; rc: string; starts: string }> = {
  bash: { args: ["--rcfile", "rc", "-i"], rc: "rc", starts: "PS1='> '\nsource <(imggen completion bash)\n" },
  zsh: {
    args: ["-i"],
    rc: ".zshrc",
    starts: "autoload -U compinit; compinit -u -D\nPS1='> '\nsource <(imggen completion zsh)\n",
  },
  fish: {
    args: ["--no-config", "-i", "-C", "source rc"],
    rc: "rc",
    starts: `function fish_prompt; echo -n '> '; end
set -g fish_greeting; set -g fish_autosuggestion_enabled 0
imggen completion fish | source
`,
  },
};

type Place = Pick<Awaited<ReturnType<typeof workplace>>, "folder" | "env">;

async function startShell(shell: string, { folder, env }: Place): Promise<Screen> {
  const { args = [], rc = "", starts = "" } = SHELLS[shell] ?? {};
  await writeFile(path.join(folder, rc), starts);
  const screen = await Screen.start(args, { command: shell, columns: 120, cwd: folder, env });
  await screen.shows(/^>/m);
  return screen;
}

/** Whether the shell takes a command again, once the line, or the program that it runs, was interrupted. */
async function answers(screen: Screen, word: string): Promise<boolean> {
  await screen.type("C-c");
  await screen.type("-l", `echo ${word}`);
  await screen.type("Enter");
  await screen.settles();
  return (await screen.lines()).includes(word);
}

describe.each(Object.keys(SHELLS))("in a real %s, TAB", (shell) => {
  it("completes commands, flags, values and files", async (test) => {
    test.skip(!mustHaveTool(shell) || !hasScreen, `${shell} or tmux is not installed`);
    const { taskId, ...place } = await workplace();
    const screen = await startShell(shell, place);
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

  it("runs nothing that a service, a model file or a folder from someone else offers", async (test) => {
    test.skip(!mustHaveTool(shell) || !hasScreen, `${shell} or tmux is not installed`);
    const { completions, ...place } = await hostilePlace();
    const screen = await startShell(shell, place);
    const lines = ["resume ", 'resume "', "models ", "models '", "batch ", 'batch "', "gallery ", "show "];
    for (const [index, typed] of lines.entries()) {
      const before = await completions();
      await screen.type("-l", `imggen ${typed}`);
      await screen.type("Tab");
      await expect.poll(completions).not.toBe(before);
      // The shell has still to show what it was given. Keys that come before that may be lost.
      await screen.settles();
      await screen.type("Enter");
      await expect.poll(() => answers(screen, `line-${index}`), { interval: 100 }).toBe(true);
    }
    await screen.type("-l", "exit");
    await screen.type("Enter");
    await screen.end();
    expect(await readdir(place.folder)).not.toContain("owned");
  });
});

it("zsh that reads it before compinit says nothing, and completes from the first prompt on", async (test) => {
  test.skip(!mustHaveTool("zsh"), "zsh is not installed");
  const { folder, env } = await workplace();
  const script = [
    "source <(imggen completion zsh)",
    "autoload -Uz compinit; compinit -u -D",
    // As zsh does before a prompt.
    "for each in $precmd_functions; do $each; done",
    "print -r -- $_comps[imggen] $precmd_functions",
  ].join("\n");
  const options = { cwd: folder, env: { ...process.env, ...env } };
  const run = await promisify(execFile)("zsh", ["-fc", script], options);
  expect(run).toEqual({ stdout: "_imggen\n", stderr: "" });
});
