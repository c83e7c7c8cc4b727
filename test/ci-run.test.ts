import { execFile } from "node:child_process";
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "./support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "..");

/** Runs `.ci/run` on a system that has `tmux`, and of the other tools none. @param programs by name, as shell scripts */
async function runOn(programs: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder();
  const [bin, ci] = [path.join(folder, "bin"), path.join(folder, ".ci")];
  for (const each of [bin, ci]) await mkdir(each);
  await cp(path.join(ROOT, ".ci/run"), path.join(ci, "run"));
  const system = ["dirname", "rm", "id", "chmod", "touch"];
  const own = system.map((name) => [name, `export PATH=/usr/bin:/bin; exec ${name} "$@"`]);
  const npm = 'echo "npm $* lacks:$IMGGEN_TESTS_LACK"';
  const all = { ...Object.fromEntries(own), sudo: '"$@"', tmux: "", npm, ...programs };
  for (const [name, script] of Object.entries(all)) {
    await writeFile(path.join(bin, name), `#!/bin/bash\n${script}\n`);
    await chmod(path.join(bin, name), 0o755);
  }
  const run = promisify(execFile)("/bin/bash", [path.join(ci, "run")], { env: { PATH: bin, BIN: bin } });
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

const LACKING = " less chromium zsh fish povray rsvg-convert convert";
/** The commands of npm, in their order. */
const ran = (lacking: string) =>
  ["ci", "ci --prefix test/interop", "run check:types-interop", "run check"]
    .map((each) => `npm ${each} lacks:${lacking}\n`)
    .join("");
const isWindows = process.platform === "win32";

describe.skipIf(isWindows)("the script that decides whether a change may land", () => {
  it("fails where apt-get fails, and names what is not there", async () => {
    const { code, stdout, stderr } = await runOn({ "apt-get": "exit 100" });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `apt-get did not install what the tests need:${LACKING}. To test without it: npm run check\n`,
    );
  });

  it("runs every check where apt-get installs what is missing", async () => {
    const installs = `[ "$1" = update ] && exit
      package="\${@: -1}"
      case "$package" in librsvg2-bin) package=rsvg-convert ;; imagemagick) package=convert ;; esac
      touch "$BIN/$package"
      chmod +x "$BIN/$package"`;
    const { code, stdout } = await runOn({ "apt-get": installs });
    expect([code, stdout]).toEqual([0, ran("")]);
  });

  it("skips the tests that need a tool by its name where there is no apt-get", async () => {
    const { code, stdout, stderr } = await runOn({});
    expect([code, stdout]).toEqual([0, ran(LACKING)]);
    expect(stderr).toBe(`Skipping the tests that need:${LACKING}\n`);
  });
});
