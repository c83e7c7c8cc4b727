import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/cli/app/commands.ts";
import { GENERATOR } from "../../../src/client/options/global-options.ts";
import { longFlag } from "../../../src/client/options/option.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const NAMES = Object.keys(COMMANDS);

/** Of the whole program and of each command. */
const WORDS = [[], ...NAMES.map((command) => [command]), ["config", "set"]];

async function shortHelp(words: readonly string[], columns?: number, all: string[] = []): Promise<string> {
  const terminal = columns === undefined ? {} : { terminal: true, columns, env: { NO_COLOR: "1" } };
  return (await runCommand([...words, "--help", ...all], { home: await temporaryFolder(), ...terminal }))
    .stdout;
}

async function help(words: readonly string[], columns?: number): Promise<string> {
  return shortHelp(words, columns, ["--all"]);
}

/** The long flags at which lines begin. */
function flagsIn(text: string): string[] {
  return [...text.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)(?= |$)/gm)].map(([, flag = ""]) => flag);
}

const GENERATOR_FLAGS_SHOWN = Object.values(GENERATOR).map(longFlag).slice(1);

function headings(text: string): string[] {
  return [...text.matchAll(/^([A-Z][\w -]*):$/gm)].map(([, heading = ""]) => heading);
}

describe("the order of help", () => {
  it("is commands by what they are for, then the options of all, then examples", async () => {
    const groups = ["Create", "Tasks", "Models", "Account", "Servers", "Agents", "Setup", "Help"];
    expect(headings(await help([]))).toEqual([
      ...groups,
      "Topics of imggen help",
      "Options of your own generator",
      "Global options",
      "Examples",
    ]);
  });

  it("of generate is its options by what they are for, then the options of all, then examples", async () => {
    const groups = ["Prompt and model", "Output", "Cost", "Waiting", "Advanced"];
    expect(headings(await help(["generate"]))).toEqual([
      "Arguments",
      ...groups,
      "Options of your own generator",
      "Global options",
      "Examples",
    ]);
  });

  it("puts every option under one heading, once", async () => {
    for (const command of NAMES) {
      const flags = flagsIn(await help([command]));
      expect(flags, command).toEqual([...new Set(flags)]);
      expect(flags.at(-1), command).toBe("--help");
    }
  });

  it("ends what an option takes with its default", async () => {
    for (const command of NAMES) {
      const text = (await help([command])).replaceAll(/\n {10,}/g, " ");
      for (const [line] of text.matchAll(/^ {2}-.*\(default: .*$/gm)) expect(line).toMatch(/\)$/);
    }
  });
});

describe("help without --all", () => {
  it("has at most 40 lines, in 80 columns, on a wider terminal and in a pipe", async () => {
    for (const words of WORDS) {
      const text = await shortHelp(words, 80);
      expect(text.trimEnd().split("\n").length, words.join(" ")).toBeLessThanOrEqual(40);
      expect(await shortHelp(words)).toBe(text);
      expect(await shortHelp(words, 120)).toBe(text);
    }
  });

  it("of the program describes the commands of daily use, and names the others under one heading", async () => {
    const text = await shortHelp([]);
    const [, daily = "", others = ""] = /Daily use:\n(.*?)\n\nOther commands:\n(.*?)\n\n/s.exec(text) ?? [];
    const described = [...daily.matchAll(/^ {2}([a-z]+) {2,}\w/gm)].map(([, name]) => name);
    const list = "generate batch compare rerun resume status history show models setup";
    expect(described).toEqual(list.split(" "));
    const named = others.match(/[a-z]+/g) ?? [];
    const rest = NAMES.filter((name) => !described.includes(name));
    expect(named.toSorted()).toEqual([...rest, "help", "version"].toSorted());
  });

  it("of generate shows the options of daily use", async () => {
    const list =
      "model ratio quality max-images image output seed prompt-file name overwrite dry-run max-credits reuse no-wait timeout";
    expect(flagsIn(await shortHelp(["generate"]))).toEqual(list.split(" ").map((name) => `--${name}`));
  });

  it("shows no option that --all does not, and says in one line how to see the others", async () => {
    for (const words of WORDS) {
      const [short, all] = [await shortHelp(words), await help(words)];
      for (const flag of flagsIn(short)) expect(flagsIn(all), words.join(" ")).toContain(flag);
      expect(short).toContain(`\nAll options: ${["imggen", ...words, "--help", "--all"].join(" ")}\n`);
      expect(all).not.toContain("All options:");
    }
    expect(await shortHelp(["status"])).not.toContain("--request-timeout");
  });

  it("names the global options that a command takes, and keeps defaults, and at least one example", async () => {
    const text = (await shortHelp(["generate"])).replaceAll(/\s+/g, " ");
    expect(text).toContain(
      "--quiet, --verbose, --no-color, --profile <name>, --sandbox, --generator <spec>,",
    );
    expect(text).toContain("how long to wait for the result (default: 180s, 600s for 4K)");
    expect((await shortHelp(["mcp"])).match(/Global options:[^:]*/)?.[0]).not.toContain("--json");
    for (const command of NAMES) expect(await shortHelp([command])).toMatch(/^ {2}\$ .*imggen/m);
  });
});

describe("help with --all", () => {
  it("has every option, those of generators included, unless the command refuses them", async () => {
    const text = await help(["generate"]);
    for (const flag of [...GENERATOR_FLAGS_SHOWN, "--check-images", "--poll-interval", "--open", "--verbose"])
      expect(flagsIn(text)).toContain(flag);
    const ofShow = flagsIn(await help(["show"]));
    expect(ofShow.filter((flag) => GENERATOR_FLAGS_SHOWN.includes(flag))).toEqual([]);
  });
});

describe("help on a terminal", () => {
  it.each([110, 80, 60, 40])("of %d columns has no line that is longer", async (columns) => {
    for (const words of WORDS)
      for (const text of [await help(words, columns), await shortHelp(words, columns)])
        expect(
          text.split("\n").filter((line) => line.length > columns),
          words.join(" "),
        ).toEqual([]);
  });

  it.each([100, 60])("of %d columns breaks no sentence before a line is full", async (columns) => {
    for (const command of NAMES) {
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
    for (const command of NAMES) expect(words(await help([command], 40))).toBe(words(await help([command])));
  });

  it("continues an example as a shell reads it, and keeps a flag's value beside it", async () => {
    expect(await help(["generate"], 60)).toContain(
      '  $ imggen generate "a red fox" --model gamma-image-2 \\\n      --ratio 16:9 --quality 2K\n',
    );
  });

  it("sets headings in bold, unless the user wants no colours", async () => {
    const home = await temporaryFolder();
    const terminal = { home, terminal: true, columns: 80 };
    expect((await runCommand(["--help"], terminal)).stdout).toContain("\u001b[1mDaily use:\u001b[22m\n");
    for (const [args, env] of [
      [["--help", "--no-color"], {}],
      [["--help"], { NO_COLOR: "1" }],
      [["--help"], { TERM: "dumb" }],
    ] as const)
      expect((await runCommand(args, { ...terminal, env })).stdout).not.toContain("\u001b");
  });
});
