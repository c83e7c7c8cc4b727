import { execFile } from "node:child_process";
import { cp, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { words } from "../support/words.ts";

const run = promisify(execFile);

/** A clone that was never built, with its dependencies. */
async function clone(): Promise<string> {
  const folder = await temporaryFolder();
  const sources = words(
    "bin src .build .github package.json tsconfig.json .tsconfig.types.json .rolldown.config.js",
  );
  for (const name of sources) await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"), "dir");
  return folder;
}

const imggen = (folder: string, ...args: string[]) =>
  run(process.execPath, [path.join(folder, "bin/imggen.cjs"), ...args]).catch((error) => error);

describe("a clone that is not built", () => {
  it("says what to run, without a stack trace", async () => {
    const folder = await clone();
    const { code, stdout, stderr } = await imggen(folder, "--version");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `error: imggen is not built, or not whole: Cannot find module '../dist/main.cjs'\n  If no build runs, run: npm install --prefix "${folder}"\n`,
    );
  });

  it("says so while a build runs, which writes its files one after the other", async () => {
    const folder = await clone();
    await mkdir(path.join(folder, "dist"));
    for (const half of ['require("./chunks/start.cjs");', "exports.main = () => {"]) {
      await writeFile(path.join(folder, "dist/main.cjs"), half);
      expect((await imggen(folder, "--version")).stderr).toMatch(/^error: imggen is not built, or not whole/);
    }
  });

  it("is built by npm install with one line, once, without types, and the release's files stay", {
    timeout: 240_000,
  }, async () => {
    const folder = await clone();
    await mkdir(path.join(folder, "dist/release"), { recursive: true });
    await writeFile(path.join(folder, "dist/release/imggen.tgz"), "a tarball");
    // The types themselves are tested as a consumer has them; here it is whether they are built at all.
    const types = 'import { writeFileSync } from "node:fs"; writeFileSync("dist/index.d.ts", "export {};");';
    await writeFile(path.join(folder, ".build/types.js"), types);
    const prepare = (npm_command: string, env = {}) =>
      run(process.execPath, [path.join(folder, ".build/prepare.js")], {
        cwd: folder,
        env: { ...process.env, npm_command, ...env },
      });
    const said = "Building imggen: about ten seconds, once.\n";
    expect(await prepare("install")).toEqual({ stdout: "", stderr: said });
    expect((await imggen(folder, "--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await readdir(path.join(folder, "dist/release"))).toEqual(["imggen.tgz"]);
    const { mtimeMs } = await stat(path.join(folder, "dist/main.cjs"));
    expect(await prepare("ci")).toEqual({ stdout: "", stderr: "" });
    expect((await stat(path.join(folder, "dist/main.cjs"))).mtimeMs).toBe(mtimeMs);
    expect(await readdir(path.join(folder, "dist"))).not.toContain("index.d.ts");
    // What depends on imggen from git needs the types.
    await prepare("install", { _PACOTE_NO_PREPARE_: "git+ssh://example.org/imggen.git" });
    expect(await readdir(path.join(folder, "dist"))).toContain("index.d.ts");
  });
});
