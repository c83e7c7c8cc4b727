import { describe, expect, it } from "vitest";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const COMMANDS =
  "generate batch compare rerun status resume history models login logout config sandbox serve doctor completion".split(
    " ",
  );

async function help(words: readonly string[], columns?: number): Promise<string> {
  const terminal = columns === undefined ? {} : { terminal: true, columns, env: { NO_COLOR: "1" } };
  return (await runCommand([...words, "--help", "--all"], { home: await temporaryFolder(), ...terminal }))
    .stdout;
}

function headings(text: string): string[] {
  return [...text.matchAll(/^([A-Z][\w ]*):$/gm)].map(([, heading = ""]) => heading);
}

describe("the order of help", () => {
  it("is commands by what they are for, then the options of all, then examples", async () => {
    const groups = ["Create", "Tasks", "Models", "Account", "Servers", "Agents", "Setup", "Help"];
    expect(headings(await help([]))).toEqual([...groups, "Global options", "Examples"]);
  });

  it("of generate is its options by what they are for, then the options of all, then examples", async () => {
    const groups = ["Prompt and model", "Output", "Cost", "Waiting", "Advanced"];
    expect(headings(await help(["generate"]))).toEqual([
      "Arguments",
      ...groups,
      "Global options",
      "Examples",
    ]);
  });

  it("leaves out what few need, and says in one line how to see it", async () => {
    const { stdout: short } = await runCommand(["generate", "--help"], { home: await temporaryFolder() });
    const all = await help(["generate"]);
    const advanced = all.split("\nAdvanced:\n")[1]?.split("\n\n")[0] ?? "";
    const flags = [...advanced.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, flag = ""]) => flag);
    expect(flags).toEqual(["--poll-interval", "--request-timeout", "--check-images", "--no-upload-cache"]);
    for (const flag of flags) expect(short).not.toContain(flag);
    const others = (text: string) => [...text.matchAll(/^ {2}(-.*?) {2}/gm)].map(([, flag]) => flag);
    expect(others(short)).toEqual(others(all.replace(advanced, "")));
    expect(short).toMatch(/^Advanced options: imggen generate --help --all$/m);
    expect(all).not.toContain("Advanced options");
  });

  it("puts every option under one heading, once", async () => {
    for (const command of COMMANDS) {
      const flags = [...(await help([command])).matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(
        ([, flag]) => flag,
      );
      expect(flags, command).toEqual([...new Set(flags)]);
      expect(flags.at(-1), command).toBe("--help");
    }
  });

  it("ends what an option takes with its default", async () => {
    for (const command of COMMANDS) {
      const text = (await help([command])).replaceAll(/\n {10,}/g, " ");
      for (const [line] of text.matchAll(/^ {2}-.*\(default: .*$/gm)) expect(line).toMatch(/\)$/);
    }
  });
});

describe("help on a terminal", () => {
  it.each([110, 80, 60, 40])("of %d columns has no line that is longer", async (columns) => {
    for (const words of [[], ...COMMANDS.map((command) => [command]), ["config", "set"]]) {
      const tooLong = (await help(words, columns)).split("\n").filter((line) => line.length > columns);
      expect(tooLong, words.join(" ")).toEqual([]);
    }
  });

  it.each([100, 60])("of %d columns breaks no sentence before a line is full", async (columns) => {
    for (const command of COMMANDS) {
      const lines = (await help([command], columns)).split("\n");
      const broken = lines.filter((line, at) => {
        const [word = ""] = lines[at + 1]?.split(" ") ?? [];
        const isWithin = /^[A-Z].*[^.:]$/.test(line) && word !== "";
        return isWithin && line.length + 1 + word.length <= columns;
      });
      expect(broken, command).toEqual([]);
    }
  });

  it("says the same at every width", async () => {
    const words = (text: string) =>
      text
        .replaceAll(/\s*\\\n|# .*|\s+/g, " ")
        .split(" ")
        .toSorted()
        .join(" ")
        .trim();
    for (const command of COMMANDS)
      expect(words(await help([command], 40))).toBe(words(await help([command])));
  });

  it("continues an example as a shell reads it, and keeps a flag's value beside it", async () => {
    expect(await help(["generate"], 60)).toContain(
      '  $ imggen generate "a red fox" --model gamma-image-2 \\\n      --ratio 16:9 --quality 2K\n',
    );
  });

  it("sets headings in bold, unless the user wants no colours", async () => {
    const home = await temporaryFolder();
    const terminal = { home, terminal: true, columns: 80 };
    expect((await runCommand(["--help"], terminal)).stdout).toContain("\u001b[1mCreate:\u001b[22m\n");
    for (const [args, env] of [
      [["--help", "--no-color"], {}],
      [["--help"], { NO_COLOR: "1" }],
      [["--help"], { TERM: "dumb" }],
    ] as const)
      expect((await runCommand(args, { ...terminal, env })).stdout).not.toContain("\u001b");
  });
});
