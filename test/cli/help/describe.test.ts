import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandNode, Description } from "../../../src/cli/help/command-tree.ts";
import { environmentTable, exitCodeTable } from "../../../src/cli/help/reference-tables.ts";
import { ARGUMENT_VALUES } from "../../../src/cli/help/value-types.ts";
import { EXIT_CODES, SIGNAL_CODES } from "../../../src/client/exit-codes.ts";
import { VERSION } from "../../../src/lib/version.ts";
import { SETTINGS } from "../../../src/store/settings-table.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function run(...args: string[]) {
  return runCommand(args, { home: await temporaryFolder() });
}

async function description(...args: string[]): Promise<Description> {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

const withAllBelow = (command: CommandNode): CommandNode[] => [
  command,
  ...command.commands.flatMap(withAllBelow),
];

describe("imggen --help --json", () => {
  it("is one document of every command, the flags of all, the exit codes and the environment", async () => {
    const { command, globalOptions, exitCodes, environment, ...rest } = await description("--help", "--json");
    expect(rest).toEqual({ ok: true, schemaVersion: 1, version: VERSION });
    const { stdout } = await run("--help", "--all");
    const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?: [^ ]+)? {2,}/gm)].map(([, name]) => name);
    expect(command.commands.map(({ name }) => name)).toEqual(listed);
    expect(globalOptions.map(({ long }) => long)).toContain("--sandbox");
    expect([exitCodes, environment]).toEqual([exitCodeTable(), environmentTable()]);
  });

  it("knows what every flag and argument takes", async () => {
    const { command } = await description("--help", "--json");
    for (const { name, options, arguments: args } of withAllBelow(command)) {
      if (name === "help") continue;
      for (const { flags, type } of options)
        expect(type === "boolean", `${name} ${flags}`).toBe(!flags.includes("<"));
      for (const argument of args) expect(Object.keys(ARGUMENT_VALUES), name).toContain(argument.name);
    }
  });

  it.each(["generate", "batch", "compare", "rerun"])(
    "says that --image of %s may be a file",
    async (name) => {
      const { command } = await description(name, "--help", "--json");
      expect(command.options.find(({ long }) => long === "--image")?.type).toBe("path");
    },
  );

  it("says defaults as the help does", async () => {
    const { command } = await description("serve", "--help", "--json");
    expect(command.options.find(({ long }) => long === "--grace")?.default).toBe("30s");
    expect((await run("serve", "--help")).stdout).toContain("(default: 30s)");
  });

  it("gives every command examples that name it", async () => {
    const { command } = await description("--help", "--json");
    for (const { name, examples } of command.commands.filter((each) => !/help|version/.test(each.name)))
      for (const example of examples) expect(example).toContain(`imggen ${name}`);
    expect(command.examples).toContain("imggen models --ratio 21:9");
  });
});

describe("imggen <command> --help --json", () => {
  it("describes that command: arguments, and flags with type, values, default and group", async () => {
    const { command } = await description("generate", "--help", "--json");
    expect(command).toMatchObject({ name: "generate", usage: "imggen generate [options] [prompt]" });
    expect(command.arguments).toMatchObject([{ name: "prompt", required: false, variadic: false }]);
    const flag = (long: string) => command.options.find((each) => each.long === long);
    expect(flag("--model")).toMatchObject({ short: "-m", type: "model", default: "vendor1/alpha-2" });
    expect(flag("--model")?.values).toContain("gamma-image-2");
    expect(flag("--timeout")).toMatchObject({ type: "duration", default: "180s, 600s for 4K", values: null });
    expect(flag("--timeout")?.description).not.toContain("default");
    expect(flag("--image")).toMatchObject({ type: "path", repeatable: true });
    expect(flag("--no-wait")).toMatchObject({ type: "boolean", default: false, group: "Waiting" });
    expect(flag("--help")).toBeUndefined();
  });

  it("is what `imggen help <command> --json` prints too, and reaches subcommands", async () => {
    expect(await description("help", "batch", "--json")).toEqual(
      await description("batch", "--help", "--json"),
    );
    expect((await description("config", "set", "-h", "--json")).command.usage).toBe(
      "imggen config set [options] <name> <value>",
    );
  });

  it("of a command that there is not is a usage error", async () => {
    const { code, stdout } = await run("nope", "--help", "--json");
    expect([code, JSON.parse(stdout).error.type]).toEqual([2, "usage"]);
  });
});

describe("the tables", () => {
  it("hold every exit code and every variable that the program has", () => {
    const codes = [...Object.values(EXIT_CODES), ...Object.values(SIGNAL_CODES), 0];
    expect(new Set(exitCodeTable().map(({ code }) => code))).toEqual(new Set(codes));
    const source = [
      "client/user-folders.ts",
      "cli/app/compile-cache.ts",
      "api/proxies.ts",
      "cli/text/colors.ts",
    ]
      .map((name) => readFileSync(path.resolve(import.meta.dirname, "../../../src", name), "utf8"))
      .join();
    const names = environmentTable().map(({ name }) => name);
    for (const { variable } of Object.values(SETTINGS)) if (variable) expect(names).toContain(variable);
    for (const [, name] of source.matchAll(/env\.((?:IMGGEN|NODE|NO|FORCE|HTTP|HTTPS)_[A-Z_]+)/g))
      expect(names).toContain(name);
  });
});
