import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function skillWorld() {
  const home = await temporaryFolder();
  return { home, run: (...args: string[]) => runCommand(["skill", ...args], { home, cwd: home }) };
}

it("imggen skill prints a skill of fewer than 150 lines, with a name and a description", async () => {
  const { run } = await skillWorld();
  const { code, stdout, stderr } = await run();
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^---\nname: imggen\ndescription: .{50,1024}\n---\n/);
  expect(stdout.split("\n").length).toBeLessThan(150);
  expect(JSON.parse((await run("--json")).stdout)).toEqual({ ok: true, text: stdout });
});

it("imggen skill install writes it where Claude Code looks, or into the folder that is named", async () => {
  const { run, home } = await skillWorld();
  const { stdout: text } = await run();
  for (const [args, folder] of [
    [[], ".claude/skills"],
    [["mine"], "mine"],
  ] as const) {
    const { code, stdout } = await run("install", ...args);
    expect([code, stdout]).toEqual([0, `${path.join(home, folder, "imggen", "SKILL.md")}\n`]);
    expect(await readFile(stdout.trim(), "utf8")).toBe(text);
  }
});

it("it keeps a copy of what it replaces, every time, because the user may have added to it", async () => {
  const { run, home } = await skillWorld();
  const { stdout: text } = await run();
  const folder = path.join(home, "skills", "imggen");
  const file = path.join(folder, "SKILL.md");
  await run("install", "skills");
  for (const [addition, name] of [
    ["Use gamma.", "SKILL.md.bak"],
    ["Use delta.", "SKILL.md.bak2"],
  ] as const) {
    await appendFile(file, addition);
    const { code, stdout, stderr } = await run("install", "skills");
    const copy = path.join(folder, name);
    expect([code, stdout, stderr]).toEqual([0, `${file}\n`, `Saved the previous SKILL.md as ${copy}\n`]);
    expect([await readFile(copy, "utf8"), await readFile(file, "utf8")]).toEqual([text + addition, text]);
  }
  expect(await run("install", "skills")).toMatchObject({ code: 0, stderr: "" });
  expect((await readdir(folder)).sort()).toEqual(["SKILL.md", "SKILL.md.bak", "SKILL.md.bak2"]);
});

it("it replaces no other skill", async () => {
  const { run, home } = await skillWorld();
  const file = path.join(home, "skills", "imggen", "SKILL.md");
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, "# my own\n");
  const { code, stdout } = await run("install", "skills", "--json");
  expect([code, JSON.parse(stdout).error.message]).toEqual([
    2,
    `${file} contains another skill, so it was not replaced.`,
  ]);
  expect(await readFile(file, "utf8")).toBe("# my own\n");
});

it("a folder that cannot be written is a usage error", async () => {
  const { run, home } = await skillWorld();
  await writeFile(path.join(home, "file"), "");
  const { code, stderr } = await run("install", "file");
  expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be written")]);
});
