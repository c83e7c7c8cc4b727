import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { INTEROP } from "../support/interop.ts";
import { packedInto } from "../support/packed.ts";
import { ROOT } from "../support/program.ts";
import { QUICK } from "../support/shell.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const BIN = path.join(INTEROP, "node_modules/.bin");
const run = promisify(execFile);

const RUNTIMES: Record<string, [program: string, ...args: string[]]> = {
  Node: [process.execPath],
  Bun: [path.join(BIN, "bun")],
  Deno: [path.join(BIN, "deno"), "run", "--allow-all"],
};

/** Where `npm install --global` has put the package, from the tarball that would be published. */
let prefix = "";

beforeAll(async () => {
  prefix = await mkdtemp(path.join(tmpdir(), "imggen-test-"));
  const tarball = await packedInto(prefix);
  const options = ["--global", "--prefix", prefix, "--omit=optional", "--offline", "--ignore-scripts"];
  await run("npm", ["install", ...options, tarball]);
});

afterAll(() => rm(prefix, { recursive: true, force: true }));

it.each(Object.keys(RUNTIMES))(
  "%s makes the sandbox's image, from a clone and from the installed package",
  async (name) => {
    const [program = "", ...args] = RUNTIMES[name] ?? [];
    const roots = [ROOT, path.join(prefix, "lib/node_modules/imggen")];
    const generated = roots.map(async (root) => {
      const folder = await temporaryFolder();
      const env = { PATH: process.env.PATH, HOME: folder, IMGGEN_HOME: folder, DENO_NO_UPDATE_CHECK: "1" };
      const line = ["generate", "a red fox", "--sandbox", "--json", ...QUICK];
      const command = [path.join(root, "bin/imggen.cjs"), ...line];
      const { stdout } = await run(program, [...args, ...command], { cwd: folder, env, timeout: 60_000 });
      const { ok, files } = JSON.parse(stdout);
      expect({ ok, files }).toMatchObject({ ok: true, files: [{ mediaType: "image/png" }] });
      expect(await readFile(files[0].path)).toHaveLength(files[0].bytes);
    });
    await Promise.all(generated);
  },
);
