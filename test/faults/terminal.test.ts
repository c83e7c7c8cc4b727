import path from "node:path";
import { expect, it } from "vitest";
import { BIN } from "../support/program.ts";
import { type ProgramWorld, serviceWorld } from "../support/program-world.ts";
import { failure, type ServiceScript, success } from "../support/scripted-server.ts";
import { completedAt, replies, stillRunning } from "../support/scripts.ts";
import { QUICK } from "../support/shell.ts";
import { hasTool } from "../support/tools.ts";
import { words } from "../support/words.ts";

/** All that must not reach a terminal: C0 but the line feed, C1, bidi controls, zero-width characters, tags. */
const ACTIVE =
  /[\0-\t\v-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

const HOSTILE = {
  "a C0 control": "a\u0007b\bc\u0000d\u007f",
  CSI: "\u001b[2J\u001b[31mred\u001b[0m",
  "C1 controls": "\u009b31mred\u0085\u0090",
  "OSC 8": "\u001b]8;;https://evil.example\u001b\\click\u001b]8;;\u001b\\",
  "OSC 52": "\u001b]52;c;ZXZpbA==\u0007",
  "line breaks": "one\r\nsaved: /etc/passwd\u2028two",
  "bidi overrides": "\u202egnp.exe\u202c \u2066x\u2069",
  "zero-width characters": "ab\u200bcd\u200d\ufeff\u2060",
  tags: "x\u{e0041}\u{e007f}",
};

it.each(Object.entries(HOSTILE))("%s in an error key is inert on a terminal", async (_name, text) => {
  const { world } = await serviceWorld({ submit: replies(failure(text)) });
  const run = await world.run(["generate", "a fox", "--verbose"]);
  expectInert(run.stdout, run.stderr);
  expect(run.code).toBe(5);
});

const HOSTILE_ID = `task-${HOSTILE["bidi overrides"]}${HOSTILE["zero-width characters"]}${HOSTILE.tags}`;
const HOSTILE_PROMPT = `${HOSTILE.CSI}${HOSTILE["OSC 52"]}${HOSTILE["bidi overrides"]} fox`;

it.each<[what: string, script: ServiceScript, commands: string[][]]>([
  [
    "what may stand in a task id",
    { submit: replies(success({ taskId: HOSTILE_ID })), poll: stillRunning },
    [
      words('generate "a fox" --no-wait'),
      words('generate "a fox" --no-wait --json'),
      words('generate "a fox" --timeout 100ms'),
      ["status", HOSTILE_ID],
      ["status", HOSTILE_ID, "--json"],
      words("resume --timeout 1ms"),
      ["history"],
      ["history", "--json"],
    ],
  ],
  [
    "a result URL of all of it",
    { poll: completedAt(`javascript:${Object.values(HOSTILE).join(" ")}`) },
    [
      'generate "a fox" --verbose --poll-interval 100ms',
      'generate "a fox" --json --poll-interval 100ms',
      "status task-1",
      "status task-1 --json",
      "resume task-1",
    ].map(words),
  ],
  [
    "hostile text in the prompt",
    {},
    [
      ["generate", HOSTILE_PROMPT, "--dry-run"],
      ["generate", HOSTILE_PROMPT, ...QUICK],
      ["history"],
      ["history", "--json"],
    ],
  ],
])("%s is inert wherever it is shown", async (_what, script, commands) => {
  const { world } = await serviceWorld(script);
  for (const args of commands) {
    const run = await world.run(args);
    expectInert(run.stdout, run.stderr);
    expect(run.stdout + run.stderr).toMatch(/task-|fox/);
  }
  for (const name of await world.files()) expect(name).not.toMatch(ACTIVE);
});

it("control characters in a saved path are inert for a person, and the path is as it is for a script", async (test) => {
  const { world } = await serviceWorld();
  const folder = path.join(world.out, `a${HOSTILE.CSI}${HOSTILE["bidi overrides"]}\u200bb`);
  const file = path.join(folder, "a-fox-task1.png");
  const made = await world.run(["generate", "a fox", ...QUICK, "-o", `${folder}/`]);
  expect(made.stdout).toBe(`${file}\n`);
  expectInert(made.stderr);
  expect((await world.run(["resume", "task-1"])).stdout).toBe(`${file}\n`);
  expect((await world.run(["status", "task-1", "-o", `${folder}/`])).stdout).toContain(`  ${file}`);
  for (const args of [
    ["history"],
    ["history", "--json"],
    ["status", "task-1", "--json"],
    ["resume", "task-1", "--json"],
  ]) {
    const run = await world.run(args);
    expect(run.code).toBe(0);
    expectInert(run.stdout, run.stderr);
  }
  if (!hasScript) return test.skip("script is not installed");
  for (const args of [["status", "task-1", "-o", `${folder}/`], ["resume", "task-1"], ["history"]]) {
    const { stdout } = await commandOnTerminal(world, args);
    expect(stdout).toContain("task1.png");
    expectInert(stdout.replaceAll("\r\n", "\n"));
  }
});

it.each([
  ["an unknown command", ["gen\u001b[2Jerate"]],
  ["an unknown flag", ["generate", "a fox", "--fl\u001b]52;c;x\u0007ag"]],
  ["a setting's name", ["config", "get", "na\u202eme"]],
  ["a duration", ["generate", "a fox", "--timeout", "1\u009b2J"]],
  ["a model", ["generate", "a fox", "--model", "z\u001b[31m-image"]],
  ["an output path", ["generate", "a fox", "--output", "/dev/null/no\u001b[31mwhere/x.png"]],
  ["a prompt file", ["generate", "--prompt-file", "no\u001b[31mwhere"]],
])("hostile text in %s is inert in the error", async (_name, args) => {
  const { world } = await serviceWorld();
  for (const json of [[], ["--json"]]) {
    const run = await world.run([...args, ...json]);
    expect(run.code).not.toBe(0);
    expectInert(run.stdout, run.stderr);
  }
});

const hasScript = hasTool("script");
const XTERM = { NO_COLOR: undefined, TERM: "xterm-256color" };

it("NO_COLOR and TERM=dumb keep a real terminal free of colour; TERM=dumb of any control", async (test) => {
  if (!hasScript) return test.skip("script is not installed");
  const { world } = await serviceWorld();
  expect((await onTerminal(world, 80, XTERM)).stdout).toMatch(/\u001b\[3[16]m/);
  expect((await onTerminal(world, 80, { ...XTERM, NO_COLOR: "1" })).stdout).not.toMatch(/\u001b\[[\d;]*m/);
  expect((await onTerminal(world, 80, { ...XTERM, TERM: "dumb" })).stdout).not.toContain("\u001b");
  expect(await world.ledger()).toEqual({ open: [], done: ["saved", "saved", "saved"] });
});

it("a terminal that says it is 0 columns wide, as some recorders do, holds nothing up", async (test) => {
  if (!hasScript) return test.skip("script is not installed");
  const { world } = await serviceWorld();
  const run = await onTerminal(world, 0, XTERM);
  expect(run.stdout.length).toBeLessThan(10_000);
  expect(await world.ledger()).toEqual({ open: [], done: ["saved"] });
});

/** What a generation that works and one that is refused write, both streams, on a terminal of their own. */
function onTerminal(world: ProgramWorld, columns: number, env: Record<string, string | undefined>) {
  const imggen = `timeout -s KILL 5 "${process.execPath}" "${BIN}"`;
  const command = `stty cols ${columns}; ${imggen} generate "a fox" --yes --poll-interval 100ms -o "${world.out}/"; ${imggen} generate ""`;
  return world.run([], { env, through: ["sh", "-c", 'exec script -qec "$0" /dev/null', command] });
}

/** What a command writes, both streams, on a terminal without colours. */
function commandOnTerminal(world: ProgramWorld, args: readonly string[]) {
  const words = [process.execPath, BIN, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const env = { ...XTERM, TERM: "dumb" };
  return world.run([], { env, through: ["sh", "-c", 'exec script -qec "$0" /dev/null', words.join(" ")] });
}

function expectInert(...streams: string[]): void {
  for (const text of streams) expect(text).not.toMatch(ACTIVE);
}
