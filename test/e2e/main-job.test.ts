import { stat } from "node:fs/promises";
import { expect, it } from "vitest";
import { inspectFile } from "../../src/lib/image/inspect.ts";
import { runProgram } from "../support/program.ts";
import { QUICK } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("saves a picture of the asked ratio and prints its path alone", async () => {
  const folder = await temporaryFolder();
  const args = ["generate", "a lighthouse at dusk, oil painting", "--ratio", "16:9", "--sandbox"];
  const { code, stdout, stderr } = await runProgram(args, { cwd: folder, env: { IMGGEN_HOME: folder } });
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^\/\S+\/a-lighthouse-at-dusk-oil-painting-\w+\.png\n$/);
  const image = { type: "png", width: 1024, height: 576 };
  expect(inspectFile(stdout.trim())).toMatchObject({ ok: true, image });
});

it("gives a saved image what the umask leaves of its permissions", async () => {
  const folder = await temporaryFolder();
  const { code, stdout } = await runProgram(["generate", "a fox", "--sandbox", ...QUICK], {
    cwd: folder,
    env: { IMGGEN_HOME: folder },
    through: ["sh", "-c", 'umask 027; exec "$@"', "sh"],
  });
  expect(code).toBe(0);
  expect((await stat(stdout.trim())).mode & 0o777).toBe(0o640);
});
