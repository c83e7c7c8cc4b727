import { execFile } from "node:child_process";
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "./support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "..");

it("where apt-get fails, the checks run all the same, and what they lack is named", async (test) => {
  test.skip(process.platform === "win32", "needs a shell");
  const folder = await temporaryFolder();
  const [bin, ci] = [path.join(folder, "bin"), path.join(folder, ".ci")];
  for (const each of [bin, ci]) await mkdir(each);
  await cp(path.join(ROOT, ".ci/run"), path.join(ci, "run"));
  const command = async (name: string, script: string) => {
    await writeFile(path.join(bin, name), `#!/bin/bash\n${script}\n`);
    await chmod(path.join(bin, name), 0o755);
  };
  await command("apt-get", "exit 100");
  await command("sudo", '"$@"');
  await command("npm", 'echo "npm $* lacks:$IMGGEN_TESTS_LACK"');
  for (const name of ["dirname", "rm", "id"]) await command(name, `exec /usr/bin/${name} "$@"`);
  await command("tmux", "");
  const env = { PATH: bin };
  const { stdout, stderr } = await promisify(execFile)("/bin/bash", [path.join(ci, "run")], { env });
  const lacking = " chromium zsh fish povray rsvg-convert convert";
  expect(stdout).toBe(`npm ci lacks:${lacking}\nnpm run check lacks:${lacking}\n`);
  expect(stderr).toContain(`Skipping the tests that need:${lacking}`);
});
