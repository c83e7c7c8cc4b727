import { describe, expect, it } from "vitest";
import type { CommandNode } from "../../src/cli/help/command-tree.ts";
import { CALLS, checkOptions } from "../../src/client/options/call-table.ts";
import type { Options } from "../../src/client/options/option.ts";
import { runCommand } from "../support/in-process.ts";
import { withConfig } from "../support/settings-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs a command in a folder of its own. */
async function ran(args: readonly string[], env: Record<string, string> = {}, settings: object = {}) {
  const home = await temporaryFolder();
  await withConfig({ home }, settings);
  const { code, stderr } = await runCommand(args, { home, env, cwd: await temporaryFolder() });
  return { code, stderr };
}

const isEmpty = (what: string) => ({ code: 2, stderr: expect.stringContaining(`error: ${what} is empty.`) });

const withAllBelow = (command: CommandNode, above: string[] = []): [string[], CommandNode][] => {
  const words = above.length === 0 && command.name === "imggen" ? [] : [...above, command.name];
  return [[words, command], ...command.commands.flatMap((each) => withAllBelow(each, words))];
};

const isPath = ({ type }: { type: string }) => ["path", "manifest", "folder"].includes(type);

describe("an empty path", () => {
  it("is refused by every flag and argument that takes one", async () => {
    const { stdout } = await runCommand(["--help", "--json"], { home: await temporaryFolder() });
    const tried: string[] = [];
    for (const [words, { options, arguments: args }] of withAllBelow(JSON.parse(stdout).command)) {
      const required = args.filter((each) => each.required).map((each) => (isPath(each) ? "x.txt" : "x"));
      for (const { long } of options.filter(isPath)) {
        tried.push([...words, long].join(" "));
        expect([tried.at(-1), await ran([...words, ...required, long, ""])]).toEqual([
          tried.at(-1),
          isEmpty(long),
        ]);
      }
      for (const argument of args.filter(isPath)) {
        const at = args.indexOf(argument);
        tried.push([...words, argument.name].join(" "));
        const given = [...words, ...required.slice(0, at), ""];
        expect([tried.at(-1), await ran(given)]).toEqual([tried.at(-1), isEmpty(`<${argument.name}>`)]);
      }
    }
    expect(tried).toEqual(
      expect.arrayContaining(["generate --output", "mcp --output", "batch manifest|-", "gallery dir"]),
    );
  });

  it.each([
    ["IMGGEN_OUTPUT", ["generate", "a fox", "--dry-run", "--sandbox"]],
    ["IMGGEN_OUTPUT", ["mcp", "--sandbox"]],
    ["IMGGEN_MATRIX", ["models"]],
    ["IMGGEN_HOME", ["history"]],
  ])("is refused in %s", async (variable, args) => {
    expect(await ran(args, { [variable]: "" })).toEqual(isEmpty(variable));
  });

  it.each([
    ["output", ["batch", "-", "--dry-run"]],
    ["matrix", ["generate", "a fox", "--dry-run"]],
  ])("is refused as the setting %s", async (name, args) => {
    expect(await ran(args, {}, { [name]: "" })).toEqual(isEmpty(`${name} from config.json`));
  });

  it("is refused by every option of the package that takes one", () => {
    const calls: Readonly<Record<string, Options>> = CALLS;
    const paths = Object.entries(calls).flatMap(([call, table]) =>
      Object.entries(table).flatMap(([name, { kind }]) => (kind === "path" ? [[call, name] as const] : [])),
    );
    expect(paths).toContainEqual(["createClient", "home"]);
    const outputs = Object.entries(calls).filter(([, table]) => "output" in table);
    expect(paths).toEqual(expect.arrayContaining(outputs.map(([call]) => [call, "output"])));
    for (const [call, name] of paths)
      expect(() => checkOptions(call as keyof typeof CALLS, { [name]: "" })).toThrow(
        `${name} must be a path`,
      );
  });
});

describe("an address in place of a path", () => {
  const ADDRESS = "s3://bucket/x";
  const isRefused = {
    code: 2,
    stderr: expect.stringContaining("error: s3://bucket/x is an address, not a path."),
  };

  it.each([
    ["--output", ["generate", "a fox", "--sandbox", "--output", ADDRESS]],
    ["--output of a batch", ["batch", "-", "--dry-run", "--output", ADDRESS]],
    ["--prompt-file", ["generate", "--prompt-file", ADDRESS, "--sandbox"]],
    ["--output of compare", ["compare", "a fox", "--sandbox", "--output", ADDRESS]],
    ["the gallery's folder", ["gallery", ADDRESS]],
    ["the gallery's --output", ["gallery", ".", "--output", ADDRESS]],
    ["the folder of mcp", ["mcp", "--sandbox", "--output", ADDRESS]],
    ["a manifest", ["batch", ADDRESS, "--sandbox"]],
  ])("is refused as %s", async (_, args) => {
    expect(await ran(args)).toEqual(isRefused);
  });

  it.each(["IMGGEN_OUTPUT", "IMGGEN_HOME", "IMGGEN_MATRIX"])("is refused in %s", async (variable) => {
    expect(await ran(["generate", "a fox", "--sandbox"], { [variable]: ADDRESS })).toEqual(isRefused);
  });

  it("is refused as the setting output", async () => {
    expect(await ran(["generate", "a fox", "--sandbox"], {}, { output: ADDRESS })).toEqual(isRefused);
  });

  it.each([
    ["--output", ["generate", "a fox", "--sandbox", "--output", ADDRESS], {}, {}],
    ["IMGGEN_OUTPUT", ["generate", "a fox", "--sandbox"], { IMGGEN_OUTPUT: ADDRESS }, {}],
    ["output from config.json", ["generate", "a fox", "--sandbox"], {}, { output: ADDRESS }],
  ])("is refused by the name of what holds it: %s", async (label, args, env, settings) => {
    expect((await ran(args, env, settings)).stderr).toContain(`${label} needs a path on this machine.`);
  });

  it("is refused by config set, and not stored", async () => {
    expect(await ran(["config", "set", "output", ADDRESS])).toEqual(isRefused);
  });
});
