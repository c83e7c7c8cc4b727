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

  it.each<[string, string[], Record<string, string>, object]>([
    ["IMGGEN_OUTPUT", ["generate", "a fox", "--dry-run", "--sandbox"], { IMGGEN_OUTPUT: "" }, {}],
    ["IMGGEN_OUTPUT", ["mcp", "--sandbox"], { IMGGEN_OUTPUT: "" }, {}],
    ["IMGGEN_MATRIX", ["models"], { IMGGEN_MATRIX: "" }, {}],
    ["IMGGEN_HOME", ["history"], { IMGGEN_HOME: "" }, {}],
    ["output from config.json", ["batch", "-", "--dry-run"], {}, { output: "" }],
    ["matrix from config.json", ["generate", "a fox", "--dry-run"], {}, { matrix: "" }],
  ])("is refused in %s", async (label, args, env, settings) => {
    expect(await ran(args, env, settings)).toEqual(isEmpty(label));
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
  const FOX = ["generate", "a fox", "--sandbox"];

  it.each<[string, string[], Record<string, string>?, object?]>([
    ["--output needs", [...FOX, "--output", ADDRESS]],
    ["--output needs", ["batch", "-", "--dry-run", "--output", ADDRESS]],
    ["--prompt-file needs", ["generate", "--prompt-file", ADDRESS, "--sandbox"]],
    ["--output needs", ["compare", "a fox", "--sandbox", "--output", ADDRESS]],
    ["Give", ["gallery", ADDRESS]],
    ["--output needs", ["gallery", ".", "--output", ADDRESS]],
    ["--output needs", ["mcp", "--sandbox", "--output", ADDRESS]],
    ["Give", ["batch", ADDRESS, "--sandbox"]],
    ["IMGGEN_OUTPUT needs", FOX, { IMGGEN_OUTPUT: ADDRESS }],
    ["IMGGEN_HOME needs", FOX, { IMGGEN_HOME: ADDRESS }],
    ["IMGGEN_MATRIX needs", FOX, { IMGGEN_MATRIX: ADDRESS }],
    ["output from config.json needs", FOX, {}, { output: ADDRESS }],
    ["output needs", ["config", "set", "output", ADDRESS]],
  ])("is refused, and what holds it is named (%s): %j", async (said, args, env, settings) => {
    const { code, stderr } = await ran(args, env, settings);
    expect(code).toBe(2);
    expect(stderr).toContain("error: s3://bucket/x is an address, not a path.");
    expect(stderr).toContain(`${said} a path on this machine.`);
  });
});
