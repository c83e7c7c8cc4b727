import { describe, expect, it } from "vitest";
import { TOPIC_NAMES } from "../../../src/cli/help/topic-names.ts";
import { EXIT_CODES } from "../../../src/client/exit-codes.ts";
import { SETTING_NAMES } from "../../../src/store/settings-table.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function help(name: string, columns?: number): Promise<string> {
  const terminal = columns === undefined ? {} : { terminal: true, columns, env: { NO_COLOR: "1" } };
  const home = await temporaryFolder();
  const { code, stdout, stderr } = await runCommand(["help", name], { home, ...terminal });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

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

  it("are named by the help of help itself", async () => {
    expect(await help("help")).toMatch(/^Usage: imggen help \[command\|topic\]\n/);
    expect(await help("help")).toContain(TOPIC_NAMES.join(", "));
  });

  it("are named by --help", async () => {
    const { stdout } = await runCommand(["--help"], { home: await temporaryFolder() });
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(`(${TOPIC_NAMES.join(", ")})`);
  });

  it("say every exit code with its error types, and every setting", async () => {
    const codes = await help("exit-codes");
    for (const [type, code] of Object.entries(EXIT_CODES))
      expect(codes.replaceAll(/\n {5,}/g, " ")).toMatch(new RegExp(`^ {2}${code} .*\\b${type}\\b`, "m"));
    const environment = await help("environment");
    for (const name of SETTING_NAMES) expect(environment).toMatch(new RegExp(`^ {2}${name} `, "m"));
  });

  it("come after a command's help where a command has the same name", async () => {
    const { stdout: ofCommand } = await runCommand(["batch", "--help"], { home: await temporaryFolder() });
    const ofTopic = await help("batch");
    expect(ofTopic.startsWith(ofCommand.trimEnd())).toBe(true);
    expect(ofTopic).toContain("\nResuming:\n");
    expect(ofCommand).not.toContain("Resuming:");
  });

  it("are one JSON document under --json, and an unknown one a usage error", async () => {
    const home = await temporaryFolder();
    const { stdout } = await runCommand(["help", "json", "--json"], { home });
    expect(JSON.parse(stdout)).toEqual({ ok: true, text: (await help("json")).trimEnd() });
    expect((await runCommand(["help", "nope"], { home })).code).toBe(2);
  });
});

describe("the manual page", () => {
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
