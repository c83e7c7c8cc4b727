import { expect, it } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function complaint(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { home: await temporaryFolder() });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  return stderr;
}

it("a command line without a command prints help; in JSON, which has no reader for it, it is an error", async () => {
  const home = await temporaryFolder();
  const bare = await runCommand([], { home });
  expect(bare).toEqual(await runCommand(["--help"], { home }));
  expect(bare).toMatchObject({ code: 0, stderr: "" });
  expect(bare.stdout).toContain("Usage: imggen");
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
  expect(await complaint("--sandbox", "a", "fox", "-m", "z-image")).toContain(
    "imggen --sandbox generate 'a fox' -m z-image\n",
  );
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
  expect(await complaint("help", "nope")).toMatch(/no command or topic "nope"\.\n {2}Topics: exit-codes, /);
});

it.each([
  ["generate a red fox", "imggen generate 'a red fox'"],
  [
    "--sandbox generate a red -q 2K fox -m gamma-image-2",
    "imggen --sandbox generate 'a red fox' -q 2K -m gamma-image-2",
  ],
  ["generate -m a -mb --ratio=16:9 a fox", "imggen generate -m a -mb --ratio=16:9 'a fox'"],
  ["generate --no-wait -o - a fox", "imggen generate --no-wait -o - 'a fox'"],
  ["compare a red fox -m z-image,gamma-image-2", "imggen compare 'a red fox' -m z-image,gamma-image-2"],
  ["generate -- -5 degrees", "imggen generate -- '-5 degrees'"],
])("a prompt without quotes (%s) is answered with the command to run", async (line, quoted) => {
  expect(await complaint(...line.split(" "))).toBe(
    `error: The prompt must be one argument: quote it.\n  Run: ${quoted}\n`,
  );
});

it.each([
  ["generate|“a|fox”|–model|z-image", "– “ ”", "generate 'a fox' --model z-image"],
  ["generate|a fox|—model=z-image", "—", "generate 'a fox' --model=z-image"],
  ["generate|a fox|–m|z-image", "–", "generate 'a fox' -m z-image"],
  ["generate|a fox|–modle|z-image", "–", "generate 'a fox' --model z-image"],
  ["generate|a fox|--model\u00a0z-image", "no-break space", "generate 'a fox' --model z-image"],
  ["generate|–dry-run", "–", "generate --dry-run"],
  ["generate|a fox|--model|‘z-image’", "‘ ’", "generate 'a fox' --model z-image"],
  ["generate\u00a0a|red|fox", "no-break space", "generate 'a red fox'"],
  ["„a|fox“|–sandbox", "– „ “", "generate 'a fox' --sandbox"],
  ["–sandbox|generate|a fox", "–", "--sandbox generate 'a fox'"],
  ["batch|“my|prompts.txt”|-o|“out”", "“ ”", "batch 'my prompts.txt' -o out"],
  ["batch|“prompts.txt”", "“ ”", "batch prompts.txt"],
  ["generate|a|fox’s|tail|–model|z-image", "–", "generate 'a fox’s tail' --model z-image"],
])("typographic characters (%s) are named, with the command that was meant", async (line, named, meant) => {
  expect(await complaint(...line.split("|"))).toBe(
    `error: The command line has ${named} in place of plain quotes, dashes or blanks.\n  Run: imggen ${meant}\n`,
  );
});

it("an option behind one dash is not taken for a short one with a value", async () => {
  expect(await complaint("generate", "a fox", "-model", "z-image")).toBe(
    "error: Unknown option '-model'.\n  Did you mean --model?\n  Run: imggen generate 'a fox' --model z-image\n",
  );
  expect(await complaint("generate", "a", "fox", "-output=x")).toContain("Did you mean --output?");
});

it("typographic characters inside a prompt are its own", async () => {
  const home = await temporaryFolder();
  for (const prompt of ["a sign “open” – and a fox’s den", "–model of a ship"]) {
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

it("a missing argument is named, with the help of its command", async () => {
  expect(await complaint("status")).toBe(
    "error: Missing required argument 'taskId'.\n  See imggen status --help.\n",
  );
});
