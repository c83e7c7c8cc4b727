import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { type CommandWorld, commandWorld } from "../../support/command-world.ts";

async function promptOf(world: CommandWorld, args: readonly string[], input?: string | Buffer) {
  const { document } = await world.json(
    ["generate", "--dry-run", ...args],
    input === undefined ? {} : { input },
  );
  return document.request?.prompt;
}

it("comes from the argument, a file, or standard input", async () => {
  const world = await commandWorld();
  await writeFile(path.join(world.cwd, "prompt.txt"), "from a file\n");
  expect(await promptOf(world, ["an argument"])).toBe("an argument");
  expect(await promptOf(world, ["--prompt-file", "prompt.txt"])).toBe("from a file");
  expect(await promptOf(world, ["-"], "asked for\n")).toBe("asked for");
  expect(await promptOf(world, [], "piped in\n")).toBe("piped in");
});

it("loses one newline at the end of a file or of standard input, and nothing else", async () => {
  const world = await commandWorld();
  expect(await promptOf(world, ["-"], "two\n\n")).toBe("two\n");
  expect(await promptOf(world, ["-"], " \n none ")).toBe(" \n none ");
  expect(await promptOf(world, ["-"], "windows\r\n")).toBe("windows");
  expect(await promptOf(world, ["an argument\n"])).toBe("an argument\n");
});

it("is asked for on a terminal, where none is given and nothing is piped in", async () => {
  const world = await commandWorld();
  const terminal = { terminal: true, env: { NO_COLOR: "1" } };
  const dry = ["generate", "--dry-run"];
  const answered = await world.run(dry, { ...terminal, answers: { "Prompt: ": "typed in" } });
  expect(answered.stdout).toContain('"prompt": "typed in"');
  const blank = await world.run(dry, { ...terminal, answers: { "Prompt: ": "  " } });
  expect([blank.code, blank.stderr]).toEqual([2, expect.stringContaining("No prompt was given.")]);
  expect((await world.json(dry, terminal)).code).toBe(2);
});

it("is what the editor makes of it with --edit, without blanks at its end", async () => {
  const world = await commandWorld();
  const terminal = { terminal: true, env: { NO_COLOR: "1" } };
  const edit = (text: string) => `${text}, watercolour\n\n`;
  const dry = ["generate", "--dry-run", "--edit"];
  const edited = await world.run([...dry, "a fox"], { ...terminal, edit });
  expect(edited.stdout).toContain('"prompt": "a fox, watercolour"');
  expect((await world.run(dry, { ...terminal, edit: () => "\n" })).code).toBe(2);
  const piped = await world.run([...dry, "a fox"], { edit });
  expect([piped.code, piped.stderr]).toEqual([2, expect.stringContaining("--edit needs a terminal")]);
});
