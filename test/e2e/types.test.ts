import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasInterop, interopRequire } from "../support/interop.ts";
import { packedInto } from "../support/packed.ts";
import { ROOT } from "../support/program.ts";
import { publishedTypes } from "../support/published-types.ts";

const run = promisify(execFile);
const { resolve } = createRequire(import.meta.url);

const CONSUMER = `
  import { createClient, ImggenFailure, type TaskResult } from "imggen";

  export async function foxes(): Promise<TaskResult> {
    await using imggen = createClient({ sandbox: true });
    try {
      for await (const row of imggen.batch([{ prompt: "a fox" }], { output: "pictures/" })) console.log(row.row);
      return await imggen.generate({ prompt: "a fox", model: "gamma-image-2" });
    } catch (error) {
      if (error instanceof ImggenFailure && error.error.type === "usage") return fail(error.error.exitCode);
      throw error;
    }
  }

  // An error's type decides its exit code.
  declare function fail(exitCode: 2): never;

  // @ts-expect-error: a request has a prompt.
  createClient().generate({ model: "gamma-image-2" });
`;

/** The same from CommonJS, where an ES module's client and errors may come in as well. */
const REQUIRER = `
  import imggen = require("imggen");
  import type { Client, TaskResult } from "imggen";

  export async function fox(): Promise<TaskResult | null> {
    const client: Client = imggen.createClient({ sandbox: true });
    try {
      return await client.generate({ prompt: "a fox", model: "gamma-image-2" });
    } catch (error) {
      if (!(error instanceof imggen.ImggenFailure)) throw error;
      const failure: imggen.ImggenFailure = error;
      return failure.error.type === "usage" ? null : Promise.reject(failure);
    }
  }

  export const same: Promise<typeof imggen.ImggenFailure> = import("imggen").then(({ ImggenFailure }) => ImggenFailure);

  // @ts-expect-error: a request has a prompt.
  imggen.createClient().generate({ model: "gamma-image-2" });
`;

/** What the pages show, and the paths of what it makes. */
const PATHS = `
  import { createClient } from "imggen";

  export async function paths(): Promise<string[]> {
    const imggen = createClient({ sandbox: true });
    const { files } = await imggen.generate({ prompt: "a fox" });
    const earlier = await imggen.reuse({ prompt: "a fox" });
    const found: string[] = [...files, ...(earlier?.files ?? [])].map(({ path }) => path);
    for await (const row of imggen.batch([{ prompt: "a fox" }])) if (row.ok) found.push(row.files[0].path);
    await imggen.close();
    return found;
  }
`;

let folder: string;
let tarball: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "imggen-types-"));
  tarball = await packedInto(folder);
  await run("tar", ["xzf", tarball], { cwd: folder });
  await mkdir(path.join(folder, "node_modules/@types"), { recursive: true });
  await symlink("../package", path.join(folder, "node_modules/imggen"));
  await symlink(
    path.dirname(resolve("@types/node/package.json")),
    path.join(folder, "node_modules/@types/node"),
  );
  await symlink(
    path.dirname(resolve("undici-types/package.json")),
    path.join(folder, "node_modules/undici-types"),
  );
  await writeFile(path.join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(path.join(folder, "consumer.ts"), CONSUMER);
  await writeFile(path.join(folder, "requirer.cts"), REQUIRER);
  await writeFile(path.join(folder, "paths.ts"), PATHS);
  await writeFile(path.join(folder, "example.ts"), await exampleOf(".github/docs/library.md"));
  await writeFile(path.join(folder, "readme.ts"), await exampleOf("README.md"));
});

afterAll(() => rm(folder, { recursive: true }));

async function exampleOf(page: string): Promise<string> {
  const text = await readFile(path.join(ROOT, page), "utf8");
  const example = /```js\n(import \{ createClient.*?)```/s.exec(text)?.[1];
  if (example === undefined) throw new Error(`${page} has no example of the library`);
  return example;
}

const EXAMPLES = ["example.ts", "readme.ts", "paths.ts"];
const [MODULES, REQUIRERS] = [["consumer.ts", ...EXAMPLES], ["requirer.cts"]];

/** The older compiler is the one of the checker below. */
const COMPILERS = {
  older: (name: string) => createRequire(interopRequire.resolve("@arethetypeswrong/core")).resolve(name),
  current: resolve,
};

it.each([
  ...(hasInterop ? [["older", "node16", [...MODULES, ...REQUIRERS]] as const] : []),
  ["current", "nodenext", [...MODULES, ...REQUIRERS]],
] as const)(
  "the types stand alone for a consumer, and for the documented example, with the %s compiler and modules of %s: %j",
  async (compiler, how, sources) => {
    const flags = ["--strict", "--skipLibCheck", "false", "--noEmit", "--target", "es2022"];
    flags.push("--lib", "es2022,esnext.disposable", "--types", "node");
    flags.push("--module", how, "--moduleResolution", how);
    const tsc = run(process.execPath, [COMPILERS[compiler]("typescript/bin/tsc"), ...flags, ...sources], {
      cwd: folder,
    });
    expect(await tsc.catch(({ stdout }) => ({ stdout }))).toMatchObject({ stdout: "" });
  },
);

it("the examples compile as a user has it, with --strict and a target alone, without Node's types", async () => {
  const flags = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--typeRoots", "none"];
  const tsc = run(process.execPath, [resolve("typescript/bin/tsc"), ...flags, ...EXAMPLES], { cwd: folder });
  expect(await tsc.catch(({ stdout }) => ({ stdout }))).toMatchObject({ stdout: "" });
});

it.skipIf(!hasInterop)(
  "the types are found wherever the package may be imported or required from",
  async () => {
    const { checkPackage, createPackageFromTarballData } = await import(
      interopRequire.resolve("@arethetypeswrong/core")
    );
    const { problems = [] } = (await checkPackage(createPackageFromTarballData(await readFile(tarball)))) as {
      problems?: { kind: string }[];
    };
    // Node 10 knows no `exports`.
    expect(problems.filter(({ kind }) => kind !== "NoResolution")).toEqual([]);
  },
);

it("the types say the same of each option as before, docstrings and all, and publish no table", async () => {
  const types = publishedTypes(path.join(folder, "package/dist/client.d.cts"));
  const file = path.join(import.meta.dirname, "../golden/files/types.json");
  await expect(`${JSON.stringify(types, null, 2)}\n`).toMatchFileSnapshot(file);
  expect(await readFile(path.join(folder, "package/dist/client.d.cts"), "utf8")).not.toMatch(
    /ValuesOf|"duration"|noFlag/,
  );
}, 60_000);
