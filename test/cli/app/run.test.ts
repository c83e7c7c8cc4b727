import { expect, it } from "vitest";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/program.ts";

async function complaint(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { home: await temporaryFolder() });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  return stderr;
}

it("a command line without a command is told where help is", async () => {
  expect(await complaint()).toBe("error: No command was given.\n  See imggen --help.\n");
});

it("a group of commands without one of them is told where its help is", async () => {
  expect(await complaint("config")).toBe(
    "error: imggen config needs a subcommand.\n  See imggen config --help.\n",
  );
});

it("a misspelled command or flag is answered with the one that was meant", async () => {
  expect(await complaint("genrate", "a fox")).toContain("Did you mean imggen generate?");
  expect(await complaint("generate", "a fox", "--modl", "x")).toContain("Did you mean --model?");
});

it("a prompt without quotes is told to use them", async () => {
  expect(await complaint("generate", "a", "red", "fox")).toContain('Try: imggen generate "a red fox"');
});

it("a missing argument is named, with the help of its command", async () => {
  expect(await complaint("status")).toBe(
    "error: Missing required argument 'taskId'.\n  See imggen status --help.\n",
  );
});
