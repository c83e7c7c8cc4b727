import { expect, it } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function complaint(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { home: await temporaryFolder() });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  return stderr;
}

it("a command line without a command is an error in JSON, which has no reader for first steps", async () => {
  const home = await temporaryFolder();
  const { code, stdout } = await runCommand(["--json"], { home });
  expect({ code, type: JSON.parse(stdout).error.type }).toEqual({ code: 2, type: "usage" });
});

it.each([["--version"], ["-V"], ["version"]])("%s prints the version", async (word) => {
  const home = await temporaryFolder();
  expect(await runCommand([word], { home })).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
  const { stdout } = await runCommand([word, "--json"], { home });
  expect(JSON.parse(stdout)).toEqual({ ok: true, text: VERSION });
});

it("a word that is no command is offered as a prompt", async () => {
  expect(await complaint("fox")).toContain("To generate an image: imggen generate fox\n");
  expect(await complaint("a", "red fox", "--sandbox")).toContain("imggen generate 'a red fox' --sandbox\n");
  const apart = 'To generate an image: imggen generate "<prompt>"\n';
  expect(await complaint("--sandbox", "a", "fox", "-m", "z-image")).toContain(apart);
  expect(await complaint("a", "-m", "z-image", "fox")).toContain(apart);
  expect(await complaint("a", "--sandbox", "fox")).toContain(apart);
  expect(await complaint("a", "fox", "--", "-5")).toContain(apart);
});

it("a misspelled command or flag is answered with the one that was meant", async () => {
  expect(await complaint("genrate", "a fox")).toContain("Did you mean imggen generate?");
  expect(await complaint("generate", "a fox", "--modl", "x")).toContain("Did you mean --model?");
  expect(await complaint("config", "lst")).toContain("Did you mean imggen config list?");
  expect(await complaint("config", "nope")).toMatch(
    /no subcommand "nope".*\n.*: list, get, set, unset, path/,
  );
  expect(await complaint("config", "unse")).toContain("Did you mean imggen config unset?");
  expect(await complaint("hlep")).toContain("Did you mean imggen help?");
});

it("a subcommand with too many arguments is not said to be unknown, and a value is to be quoted", async () => {
  expect(await complaint("config", "get", "model", "ratio")).toMatch(
    /^error: Too many arguments for 'get'\. Expected 1 argument but got 2\.\n {2}See imggen config get --help\.\n$/,
  );
  expect(await complaint("config", "set", "negative", "rain", "snow")).toContain(
    "Too many arguments for 'set'. Expected 2 arguments but got 3.\n  Quote a value with spaces. See imggen config set --help.\n",
  );
  expect(await complaint("skill", "install", "a", "b")).not.toContain("has no subcommand");
});

it("a question for help that names nothing is answered with the nearest command or topic, or all topics", async () => {
  expect(await complaint("help", "exit")).toContain("Did you mean imggen help exit-codes?");
  expect(await complaint("help", "enviroment")).toContain("Did you mean imggen help environment?");
  expect(await complaint("help", "histroy")).toContain("Did you mean imggen help history?");
  expect(await complaint("help", "nonsense")).toMatch(
    /no command or topic "nonsense"\.\n {2}Topics: exit-codes, /,
  );
});

it.each([
  ["generate a red fox", "Run: imggen generate 'a red fox'"],
  ["generate a fox -m z-image --sandbox", "Run: imggen generate 'a fox' -m z-image --sandbox"],
  ["generate a fox --sandbox -o -", "Run: imggen generate 'a fox' --sandbox -o -"],
  ["compare a red fox -m z-image,gamma-image-2", "Run: imggen compare 'a red fox' -m z-image,gamma-image-2"],
  // A command is proposed only if the words stand together before any option.
  ["generate a red -q 2K fox -m gamma-image-2", "See imggen generate --help."],
  ["--sandbox generate a red fox", "See imggen generate --help."],
  ["generate --no-wait a fox", "See imggen generate --help."],
  ["compare fox --sheet sheet.png", "See imggen compare --help."],
  ["compare a red fox -m z-image --sheet sheet.png", "See imggen compare --help."],
  ["generate a fox -- -5 degrees", "See imggen generate --help."],
])("a prompt without quotes (%s) is to be quoted", async (line, next) => {
  expect(await complaint(...line.split(" "))).toBe(
    `error: The prompt must be one argument: quote it.\n  ${next}\n`,
  );
});

it.each([
  ["generate|“a|fox”|–model|z-image", "–", "--model"],
  ["generate|a fox|—model=z-image", "—", "--model"],
  ["generate|a fox|–m|z-image", "–", "-m"],
  ["generate|a fox|–model\u00a0z-image", "–", "--model"],
  ["generate|–dry-run", "–", "--dry-run"],
  ["“a|fox“|–sandbox", "–", "--sandbox"],
  ["–sandbox|generate|a fox", "–", "--sandbox"],
  ["generate|a|fox’s|tail|-–model|z-image", "-–", "--model"],
])("a typographic dash (%s) is named, with the option that is meant", async (line, dash, meant) => {
  expect(await complaint(...line.split("|"))).toBe(
    `error: The command line has ${dash} in place of a plain dash. Type ${meant}.\n  Nothing was sent. To begin a prompt with this dash, write -- before the prompt.\n`,
  );
});

it.each([
  ["generate|“a|fox”", "“ ” in place of plain quotes", "The prompt must be one argument"],
  ["„a|fox“|--sandbox", "„ “ in place of plain quotes", "There is no command"],
  ["generate|a fox|--model|‘z-image’", "‘ ’ in place of plain quotes", "--model ‘z-image’"],
  ["batch|“my|prompts.txt”|-o|“out”", "“ ” in place of plain quotes", "Too many arguments"],
  ["batch|“prompts.txt”", "“ ” in place of plain quotes", "“prompts.txt”"],
  [
    "generate|a fox|--model\u00a0z-image",
    'a no-break space in place of a plain space in "--model z-image"',
    "",
  ],
  ["generate\u00a0a|red|fox", 'a no-break space in place of a plain space in "generate a"', ""],
])("typographic quotes and blanks (%s) are named if the line is refused", async (line, named, cause) => {
  const said = await complaint(...line.split("|"));
  expect(said).toContain(`error: The command line has ${named}.\n`);
  expect(said).toContain(cause);
});

it("typographic characters inside a prompt are not the cause of an error", async () => {
  const said = await complaint("generate", "“Open” on a fox’s den", "--model", "nothing");
  expect(said).not.toContain("The command line has");
  expect(await complaint("generate", "a", "fox’s", "den")).toContain("Run: imggen generate 'a fox’s den'");
});

it("an option behind one dash is not taken for a short one with a value", async () => {
  expect(await complaint("generate", "a fox", "-model", "z-image")).toBe(
    "error: Unknown option '-model'.\n  Did you mean --model?\n",
  );
  expect(await complaint("generate", "a", "fox", "-output=x")).toContain("Did you mean --output?");
});

it("typographic characters inside a prompt are its own", async () => {
  const home = await temporaryFolder();
  for (const prompt of ["a sign “open” – and a fox’s den", "–model of a ship", "fox–hare"]) {
    const { code } = await runCommand(["generate", prompt, "--dry-run", "-m", "z-image", "--sandbox"], {
      home,
    });
    expect(code).toBe(0);
  }
});

it("several prompts are answered with the command that takes several", async () => {
  const said = await complaint("generate", "a red fox", "a snow hare");
  expect(said).toContain("takes one prompt, not 2");
  expect(said).toContain("imggen batch prompts.txt");
});

it("without arguments prints first steps: at most 15 lines of 80 columns", async () => {
  const { code, stdout, stderr } = await runCommand([], { home: await temporaryFolder() });
  const lines = stdout.trimEnd().split("\n");
  expect([code, stderr, lines.length <= 15, lines.every((line) => line.length <= 80)]).toEqual([
    0,
    "",
    true,
    true,
  ]);
  for (const word of ["--sandbox", "setup", "login", "generate", "batch", "history", "help"])
    expect(stdout).toContain(word);
});

it("a missing argument is named, with the help of its command", async () => {
  expect(await complaint("completion")).toBe(
    "error: Missing required argument 'shell'.\n  See imggen completion --help.\n",
  );
});
