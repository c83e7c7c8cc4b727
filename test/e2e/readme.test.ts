import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { environmentTable } from "../../src/cli/help/environment.ts";
import { exitCodeTable } from "../../src/cli/help/exit-code-table.ts";
import { EXIT_CODES } from "../../src/client/exit-codes.ts";
import { SETTING_NAMES } from "../../src/store/settings-file.ts";
import { runCommand } from "../support/in-process.ts";
import { sandboxShell } from "../support/sandbox-shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const README = await readFile(path.resolve(import.meta.dirname, "../../README.md"), "utf8");
const COMMANDS = [
  "generate",
  "status",
  "resume",
  "history",
  "rerun",
  "batch",
  "compare",
  "models",
  "login",
  "logout",
  "config",
  "sandbox",
  "completion",
  "mcp",
  "show",
  "gallery",
  "skill",
  "doctor",
];

/** The text of one section, up to the next heading. */
function section(heading: string): string {
  return README.split(new RegExp(`^#{2,3} ${heading}$`, "m"))[1]?.split(/^#{2,3} /m)[0] ?? "";
}

describe("the README's command reference", () => {
  it.each(COMMANDS)("names the options of %s, and no others", async (command) => {
    const { stdout } = await runCommand([command, "--help", "--all"], { home: await temporaryFolder() });
    const options = stdout.split("\nGlobal options:")[0] ?? "";
    const inHelp = [...options.matchAll(/^ {2}((?:-\w, )?--[\w-]+(?: <[^>]+>)?)/gm)].map(([, flag]) => flag);
    const inReadme = [...section(command).matchAll(/^\| `(-[^`]+)` \|/gm)].map(([, flag]) => flag);
    expect(inReadme.toSorted()).toEqual(inHelp.toSorted());
  });

  it("has a section for every command that --help lists", async () => {
    const { stdout } = await runCommand(["--help"], { home: await temporaryFolder() });
    const list = stdout.split("\nCreate:\n")[1]?.split("\nHelp:")[0] ?? "";
    const names = [...list.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name);
    expect(names.toSorted()).toEqual(COMMANDS.toSorted());
  });
});

describe("the README's tables", () => {
  it("name every setting", () => {
    for (const name of SETTING_NAMES) expect(section("Settings")).toContain(`| \`${name}\` |`);
  });

  it("name every exit code with its error types", () => {
    const rows = [...section("In scripts").matchAll(/^\| (\d+) \| (.+?) \|/gm)];
    const types = rows.flatMap(([, code, cell = ""]) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, type]) => [type, Number(code)]),
    );
    expect(Object.fromEntries(types)).toEqual(EXIT_CODES);
  });

  it("say of each exit code what the program says of it", () => {
    const rows = [...section("In scripts").matchAll(/^\| (\d+) \| .+? \| (.+) \|$/gm)];
    const told = rows.map(([, code, meaning = ""]) => [Number(code), meaning.replaceAll("`", "")]);
    const known = exitCodeTable().flatMap(({ code, meaning }) => (code > 128 ? [] : [[code, meaning]]));
    expect(told).toEqual(known);
  });

  it("name every environment variable", () => {
    for (const { name } of environmentTable()) expect(section("Settings")).toContain(`\`${name}`);
  });
});

/** The commands of a stretch of the README that a reader would paste one after the other. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = ""]) => block.split("\n"));
  return blocks.filter((line) => /\bimggen /.test(line) && !/npm |imggen (?:sandbox|mcp)/.test(line));
}

const begins = (text: string, ...names: string[]) => names.some((name) => text.startsWith(`### ${name}\n`));

/** A task that somebody is at work on is nobody else's to finish, and what is to be shown must be there. */
const AFTER_ALL = ["status", "resume", "show", "gallery"];

/** Stretches that need nothing of each other, so that they can be read at the same time; and what comes after all. */
function stretches(): { atOnce: string[][]; after: string[] } {
  const sections = README.split(/^(?=#{2,3} )/m);
  const take = (...names: string[]) => sections.filter((text) => begins(text, ...names)).join("\n");
  const rest = sections.filter((text) => !begins(text, "generate", "rerun", ...AFTER_ALL));
  return {
    // An image that `generate` saved is what `rerun` starts from.
    atOnce: [take("generate", "rerun"), ...rest].map(commandsOf).filter((lines) => lines.length > 0),
    after: commandsOf(take(...AFTER_ALL)),
  };
}

describe("the README's commands", () => {
  it("all work when they are pasted", { timeout: 120_000 }, async () => {
    const { run: shell, folder, baseUrl } = await sandboxShell();
    await writeFile(path.join(folder, "products.csv"), /```csv\n([\s\S]*?)```/.exec(README)?.[1] ?? "");
    const id = (await shell("imggen generate 'a task to poll' --no-wait")).stdout.trim();
    const { atOnce, after } = stretches();
    expect([...atOnce.flat(), ...after].length).toBeGreaterThan(30);
    const read = async (lines: string[]) => {
      for (const line of lines) await expect(shell(pasted(line, id, baseUrl)), line).resolves.toBeDefined();
    };
    await Promise.all(atOnce.map(read));
    await read(after);
  });
});

/** A line as it works here: the address and the ids are examples, and jq is not ours. */
function pasted(line: string, id: string, baseUrl: string): string {
  const real = line
    .replaceAll("https://example.com/api", baseUrl)
    .replaceAll(/task_3f9c|task_81ab/g, id)
    .replace(/(status|resume)(.*) --output fox\.png/, `$1$2 --output fox-${Math.random()}.png`)
    // Nobody wants to see what a test has made.
    .replace(" --open", "")
    .replace(/\| jq .*$/, "");
  return /imggen login/.test(real) && !real.includes("|") ? `echo sk-sandbox | ${real}` : real;
}
