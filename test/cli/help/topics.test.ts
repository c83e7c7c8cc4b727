import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/cli/app/commands.ts";
import type { CommandNode } from "../../../src/cli/help/command-tree.ts";
import { TOPIC_NAMES } from "../../../src/cli/help/topic-names.ts";
import { EXIT_CODES } from "../../../src/client/exit-codes.ts";
import { SETTING_NAMES } from "../../../src/store/settings-table.ts";
import { describedProgram } from "../../support/description.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function help(name: string, columns?: number): Promise<string> {
  const terminal = columns === undefined ? {} : { terminal: true, columns, env: { NO_COLOR: "1" } };
  const home = await temporaryFolder();
  const { code, stdout, stderr } = await runCommand(["help", name], { home, ...terminal });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** The words of a command and of all below it. */
const wordsBelow = ({ commands }: CommandNode): string[][] => [
  [],
  ...commands.flatMap((each) => wordsBelow(each).map((words) => [each.name, ...words])),
];

const COMMAND_LINES = wordsBelow((await describedProgram()).command).filter(([name]) => name !== "help");

const PAGES = path.resolve(import.meta.dirname, "../../../.github/docs/help");
const WRITTEN = readdirSync(PAGES).map((name) => path.basename(name, ".md"));
const GENERATED = ["exit-codes", "environment", "settings"];

/** The words of a page, and of what is shown of it: code between values may be broken, and links are commands. */
const wordsIn = (text: string) => text.match(/[\p{L}\d_.:/{}$-]{2,}/gu) ?? [];

/** A script stands at the margin, from its first line to an empty one. */
const SCRIPT = /^#!.*\n(?:.+\n)*/gm;

const withoutScripts = (text: string) => text.replace(SCRIPT, "");

describe("help topics", () => {
  it.each(TOPIC_NAMES)(
    "%s fits terminals of 100, 80 and 40 columns, but for what is to be copied",
    async (name) => {
      for (const columns of [100, 80, 40]) {
        const lines = withoutScripts(await help(name, columns)).split("\n");
        const tooLong = lines.filter((line) => line.length > columns && !line.startsWith("    "));
        expect(tooLong).toEqual([]);
      }
      const text = await help(name);
      const scripts = text.match(SCRIPT)?.join("\n").split("\n") ?? [];
      const copied = [...scripts, ...text.split("\n").filter((line) => line.startsWith("    "))];
      for (const line of copied) expect(line.length, line).toBeLessThanOrEqual(100);
    },
  );

  it("json has documents that stay whole in 40 columns: each line is broken between two values", async () => {
    const lines = (await help("json", 40)).split("\n");
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
    for (const [heading, next] of [
      ["Success:", "Failure:"],
      ["Failure:", "Fields:"],
    ] as const) {
      const document = lines.slice(lines.indexOf(heading) + 1, lines.indexOf(next)).join("\n");
      expect(JSON.parse(document)).toHaveProperty("charged");
    }
  });

  it.each([
    ...[...TOPIC_NAMES, "help"].map((name) => ["help", name]),
    ...COMMAND_LINES.map((words) => [...words, "--help"]),
  ])("are 40 lines at most in 80 columns and in a pipe: imggen %s %s %s", async (...words) => {
    const args = words.filter((word) => word !== undefined);
    const home = await temporaryFolder();
    for (const options of [{ terminal: true, columns: 80, env: { TERM: "dumb", NO_COLOR: "1" } }, {}]) {
      const { code, stdout } = await runCommand(args, { home, ...options });
      const lines = stdout.trimEnd().split("\n");
      expect({ code, isEmpty: stdout === "" }).toEqual({ code: 0, isEmpty: false });
      expect(lines.length, stdout).toBeLessThanOrEqual(40);
    }
  });

  it("are the pages of .github/docs/help, and three that are generated; none has a command's name", () => {
    expect([...TOPIC_NAMES].toSorted()).toEqual([...WRITTEN, ...GENERATED].toSorted());
    expect(TOPIC_NAMES.filter((name) => Object.hasOwn(COMMANDS, name))).toEqual([]);
  });

  it.each(WRITTEN)(
    "%s says what its page does, word by word, and names a topic for each link",
    async (name) => {
      const page = readFileSync(path.join(PAGES, `${name}.md`), "utf8");
      const linked = [...page.matchAll(/\]\((.*?)\)/g)].map(([, to = ""]) => path.basename(to, ".md"));
      const text = page
        .replace(/^# .*\n/, "")
        .replaceAll(/```\w*|`|^\|.*\|\n\|---\|---\|$/gm, "")
        .replaceAll(/\[[^\]]*\]\(([\w-]+)\.md\)/g, "imggen help $1")
        .replaceAll(/^## (.*)$/gm, "$1:");
      for (const columns of [100, 40]) {
        const shown = await help(name, columns);
        expect(wordsIn(shown)).toEqual(wordsIn(text));
        expect(shown).not.toMatch(/`|\]\(|^\||^#(?!!)(?!SBATCH| once)/m);
        const asked = [...shown.replaceAll(/\s+/g, " ").matchAll(/imggen help ([\w-]+)/g)].map(
          ([, to]) => to,
        );
        for (const to of linked) expect(asked).toContain(to);
      }
      for (const to of linked) expect(TOPIC_NAMES).toContain(to);
    },
  );

  it("have generators as an index of 30 lines at most in 80 columns", async () => {
    const lines = (await help("generators", 80)).trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(30);
    for (const topic of TOPIC_NAMES.slice(TOPIC_NAMES.indexOf("generator-options")))
      expect(lines.join("\n")).toMatch(new RegExp(`imggen help ${topic}\\b`));
  });

  it("are named by the help of help itself", async () => {
    expect(await help("help")).toMatch(/^Usage: imggen help \[command\|topic\]\n/);
    expect((await help("help")).replaceAll(/\s+/g, " ")).toContain(TOPIC_NAMES.join(", "));
  });

  it("are named by --help", async () => {
    const { stdout } = await runCommand(["--help"], { home: await temporaryFolder() });
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(TOPIC_NAMES.join(", "));
  });

  it("say every exit code with its error types, and every setting", async () => {
    const codes = await help("exit-codes");
    for (const [type, code] of Object.entries(EXIT_CODES))
      expect(codes.replaceAll(/\n {5,}/g, " ")).toMatch(new RegExp(`^ {2}${code} .*\\b${type}\\b`, "m"));
    const settings = await help("settings");
    for (const name of SETTING_NAMES) expect(settings).toMatch(new RegExp(`^ {2}${name} `, "m"));
  });

  it.each(["batch", "sandbox"])("give way to the command %s", async (name) => {
    const { stdout: ofCommand } = await runCommand([name, "--help"], { home: await temporaryFolder() });
    expect(await help(name)).toBe(ofCommand);
  });

  it("are one JSON document under --json, and an unknown one a usage error", async () => {
    const home = await temporaryFolder();
    const { stdout } = await runCommand(["help", "json", "--json"], { home });
    expect(JSON.parse(stdout)).toEqual({ ok: true, text: (await help("json")).trimEnd() });
    expect((await runCommand(["help", "nope"], { home })).code).toBe(2);
  });
});

describe("a pager", () => {
  const terminal = { terminal: true, columns: 80, env: { TERM: "xterm", NO_COLOR: "1" } };

  /** The text that a pager gets which shows it or cannot be started, and the run. */
  async function paged(args: readonly string[], options: object = terminal, canStart = true) {
    const texts: string[] = [];
    const page = (text: string) => {
      texts.push(text);
      return canStart;
    };
    const run = await runCommand(args, { home: await temporaryFolder(), page, ...options });
    return { texts, ...run };
  }

  it.each([
    ["help", "json"],
    ["generate", "--help", "--all"],
    ["help", "generate", "--all"],
    ["--help", "--all"],
  ])("gets %s %s %s, and nothing is printed beside it", async (...args) => {
    const words = args.filter((word) => word !== undefined);
    const { texts, code, stdout } = await paged(words);
    const { stdout: unpaged } = await runCommand(words, { home: await temporaryFolder(), ...terminal });
    expect({ code, stdout, texts }).toEqual({ code: 0, stdout: "", texts: [unpaged] });
  });

  it("that cannot be started leaves the text as it is without one, at exit code 0", async () => {
    const { code, stdout, stderr } = await paged(["help", "json"], terminal, false);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: await help("json", 80), stderr: "" });
  });

  it.each([
    ["help", "generate"],
    ["generate", "--help"],
    ["--version"],
    ["help", "man"],
    ["help", "help"],
    ["help", "json", "--json"],
    ["generate", "--help", "--all", "--json"],
  ])("does not get %s %s %s %s", async (...args) => {
    expect((await paged(args.filter((word) => word !== undefined))).texts).toEqual([]);
  });

  it("is not for a dumb terminal, nor for a pipe", async () => {
    const dumb = { ...terminal, env: { TERM: "dumb" } };
    for (const options of [dumb, {}]) expect((await paged(["help", "json"], options)).texts).toEqual([]);
  });
});

describe("the manual page", () => {
  it("names the folders of settings, ledger and cache", async () => {
    const page = await help("man");
    const files = page.slice(page.indexOf('.SH "FILES"'));
    for (const name of ["IMGGEN_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "Library", "cache"])
      expect(files).toContain(name);
  });

  it("has every command and flag, and no line that roff would take for one of its own", async () => {
    const page = await help("man");
    const { stdout } = await runCommand(["--help", "--json"], { home: await temporaryFolder() });
    const { command } = JSON.parse(stdout);
    const roff = (text: string) => text.replaceAll("-", "\\-");
    for (const { name, usage, options } of command.commands.filter(
      (each: { name: string }) => each.name !== "version",
    )) {
      if (name === "help") continue;
      expect(page).toContain(`.SS "${roff(usage)}"`);
      for (const { flags } of options) expect(page).toContain(`.B ${roff(flags)}\n`);
    }
    for (const line of page.split("\n").filter((each) => each.startsWith(".")))
      expect(line).toMatch(/^\.(TH|SH|SS|TP|PP|B|I|nf|fi)( |$)/);
  });
});
