import { execFile, execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { nodePackage } from "../../.build/node-package.js";
import { ROOT } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { IMGGEN_BINARY: BINARY = "" } = process.env;
const RELEASE = path.dirname(BINARY);
const run = promisify(execFile);

/** Runs the executable with nothing in its environment but a home. */
async function imggen(...args: string[]) {
  const home = await temporaryFolder();
  return { home, ...(await run(BINARY, args, { cwd: home, env: { HOME: home, IMGGEN_HOME: home } })) };
}

it("makes the sandbox's image with no Node.js on the PATH", async () => {
  const { stdout } = await imggen("generate", "a red fox", "--sandbox", "--json");
  const { ok, files } = JSON.parse(stdout);
  expect(ok).toBe(true);
  expect(await readFile(files[0].path)).toHaveLength(files[0].bytes);
});

it.each([[["--version"]], [["--help"]], [["models", "--json"]], [["help", "scale"]]])(
  "prints for %j what the package prints",
  async (args) => {
    const { stdout } = await imggen(...args);
    const packaged = await run(process.execPath, [path.join(ROOT, "bin/imggen.cjs"), ...args], { env: {} });
    expect(stdout).toBe(packaged.stdout);
  },
);

it("completes a command for a shell", async () => {
  expect((await imggen("__complete", "=gener")).stdout).toContain("generate");
});

it("says in doctor that it has no sharp, and what works without", async () => {
  const home = await temporaryFolder();
  const env = { HOME: home, IMGGEN_HOME: home };
  const doctor = run(BINARY, ["doctor", "--sandbox", "--json"], { env, cwd: home }).catch((error) => error);
  const { checks } = JSON.parse((await doctor).stdout);
  const libraries = checks.find(({ name }: { name: string }) => name === "libraries");
  expect(libraries).toMatchObject({
    status: "warning",
    message: "Imggen as a single executable does not include sharp.",
    hint: expect.stringContaining("the npm package of imggen"),
  });
});

it("loads no package from the folder that it is run in", async () => {
  const home = await temporaryFolder();
  await mkdir(path.join(home, "node_modules/sharp"), { recursive: true });
  await writeFile(
    path.join(home, "node_modules/sharp/index.js"),
    'require("node:fs").writeFileSync("loaded", "");',
  );
  const env = { HOME: home, IMGGEN_HOME: home };
  await run(BINARY, ["doctor", "--sandbox"], { env, cwd: home }).catch(() => {});
  expect(await readdir(home)).not.toContain("loaded");
});

it("is at most 160 MB, and its archive, which holds its papers, at most 40 MB", async () => {
  expect((await stat(BINARY)).size).toBeLessThan(160e6);
  const [archive = ""] = (await readdir(RELEASE)).filter((name) => name.endsWith(".tar.xz"));
  expect((await stat(path.join(RELEASE, archive))).size).toBeLessThan(40e6);
  const { stdout } = await run("tar", ["-tJf", path.join(RELEASE, archive)]);
  const names = stdout.split("\n").map((name) => name.split("/").slice(1).join("/"));
  const papers = ["imggen.1", "LICENSE", "THIRD-PARTY-LICENSES.txt", "completions/imggen.bash"];
  expect(names).toEqual(expect.arrayContaining([path.basename(BINARY), ...papers]));
});

it("starts in at most 1.3 times of what the same Node.js takes for an empty script", async () => {
  const empty = path.join(await temporaryFolder(), "empty.cjs");
  await writeFile(empty, "");
  const print = ["exec", "--yes", `--package=${nodePackage(26)}`, "--", "node", "-p", "process.execPath"];
  const node = execFileSync("npm", print, { encoding: "utf8", shell: process.platform === "win32" }).trim();
  // In turn, so that whatever else the machine does slows both; the fastest is what it takes.
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let at = 0; at < 40; at += 1) {
    ours.push(timeOf(BINARY, "--version"));
    theirs.push(timeOf(node, empty));
  }
  expect(Math.min(...ours) / Math.min(...theirs)).toBeLessThan(1.3);
});

function timeOf(program: string, argument: string): number {
  const start = performance.now();
  execFileSync(program, [argument], { env: {} });
  return performance.now() - start;
}
