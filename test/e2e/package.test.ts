import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type RolldownOptions, rolldown } from "rolldown";
import { expect, it } from "vitest";
import { CANARY } from "../support/canary.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const DIST = path.join(ROOT, "dist");
const run = promisify(execFile);

it("the package holds the program, its types and its papers, and nothing else", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT });
  const [{ files, unpackedSize }] = JSON.parse(stdout);
  const names: string[] = files.map(({ path: name }: { path: string }) => name);
  for (const needed of [
    "package.json",
    "LICENSE",
    "bin/imggen.cjs",
    "dist/main.cjs",
    "dist/commands.json",
    "dist/help.txt",
    "dist/imggen.1",
    "dist/client.cjs",
    "dist/client.d.cts",
    "dist/index.js",
    "dist/types/client/index.d.ts",
  ]) {
    expect(names).toContain(needed);
  }
  const expected =
    /^(package\.json|README\.md|LICENSE|bin\/imggen\.cjs|dist\/commands\.json|dist\/imggen\.1|dist\/[\w.-]+\.txt|dist\/([\w-]+\/)*[\w.-]+\.(c?js|d\.cts)|dist\/types\/.+\.d\.ts)$/;
  expect(names.filter((name) => !expected.test(name))).toEqual([]);
  expect(unpackedSize).toBeLessThan(3_000_000);
});

it("the packed tarball works where it is unpacked, without anything to install", async () => {
  const folder = await temporaryFolder();
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: ROOT });
  const [tarball = ""] = await readdir(folder);
  await run("tar", ["xzf", tarball], { cwd: folder });
  const bin = path.join(folder, "package/bin/imggen.cjs");
  const env = { PATH: process.env.PATH, IMGGEN_HOME: path.join(folder, "home"), IMGGEN_API_KEY: CANARY };
  const imggen = (...args: string[]) => run(process.execPath, [bin, ...args], { cwd: folder, env });
  const { version } = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  expect((await imggen("--version")).stdout).toBe(`${version}\n`);
  expect((await imggen("config", "set", "model", "z-image")).stdout).toBe("");
  const { stdout } = await imggen("generate", "a fox", "--sandbox", "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    request: { model: "z-image" },
    files: [{ mediaType: "image/png" }],
  });
  const script = `const api = require("imggen");
    import("imggen").then((module) => console.log(Object.keys(module).map((name) => [name, module[name] === api[name]])));`;
  const api = await run(process.execPath, ["-e", script], { cwd: path.join(folder, "package") });
  expect(api).toEqual({ stdout: "[ [ 'ImggenFailure', true ], [ 'createClient', true ] ]\n", stderr: "" });
});

it("the third-party licences name exactly the packages that the bundles hold, each with its text", async () => {
  const folder = await temporaryFolder();
  await buildWithSourceMaps(folder);
  const built = await readFile(path.join(folder, "THIRD-PARTY-LICENSES.txt"), "utf8");
  const named = built
    .split("\n\n\n")
    .map((entry) => /^(\S+) \d+\.\d+\.\d+\S* \([\w.-]+\)\n\n.*copyright/is.exec(entry)?.[1] ?? entry);
  const sources = await sourcesInMaps(folder);
  const packages = sources.flatMap(
    (source) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? [],
  );
  // What libraries carry inside: their own build has marked it.
  for (const source of sources.filter((each) => each.includes("/node_modules/"))) {
    const code = await readFile(source, "utf8");
    for (const [, name = ""] of code.matchAll(/^\/\/#region .*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm))
      packages.push(name);
  }
  expect(packages).toContain("content-type");
  expect(named).toEqual([...new Set(packages)].sort());
  expect(await readFile(path.join(DIST, "THIRD-PARTY-LICENSES.txt"), "utf8")).toBe(built);
  // The program and the API share all they have in common, the HTTP library first of all.
  expect(sources.filter((source, at) => sources.indexOf(source) !== at)).toEqual([]);
});

/** Builds as the configuration says, but into this folder, with source maps. */
async function buildWithSourceMaps(folder: string): Promise<void> {
  const config = pathToFileURL(path.join(ROOT, ".rolldown.config.js")).href;
  const { default: build }: { default: RolldownOptions } = await import(config);
  const { output, ...input } = build;
  const bundle = await rolldown({ ...input, cwd: ROOT });
  await bundle.write({ ...output, dir: folder, sourcemap: true });
  await bundle.close();
}

/** The files that the source maps in a folder lead back to, once for each map. */
async function sourcesInMaps(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".map"));
  const sources = await Promise.all(
    names.map(async (name) => {
      const map = JSON.parse(await readFile(path.join(folder, name), "utf8"));
      return map.sources.map((source: string) => path.resolve(folder, path.dirname(name), source));
    }),
  );
  return sources.flat();
}

it("the README and package.json name the same oldest Node", async () => {
  const { engines } = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
  const oldest = /^>=(.+)$/.exec(engines.node)?.[1];
  expect(readme).toContain(`Node.js ${oldest} or later`);
});

/** A text that each library is known by, in its minified form too. */
const MARKS = { undici: "UND_ERR_", zod: "invalid_union", conf: "__internal__", ora: "[?25" };

it.each([[["--version"]], [["--help"]], [["models"]], [["models", "--json"]], [["history"]]])(
  "imggen %j loads no HTTP client, schemas, settings store or spinner",
  async (args) => {
    const everything = await textOf(
      (await readdir(DIST, { recursive: true })).map((name) => path.join(DIST, name)),
    );
    for (const [library, mark] of Object.entries(MARKS))
      expect(everything.includes(mark), library).toBe(true);
    const loaded = await loadedBy(args);
    expect(loaded.length).toBeGreaterThan(0);
    const text = await textOf(loaded);
    expect(Object.entries(MARKS).filter(([, mark]) => text.includes(mark))).toEqual([]);
  },
);

/** The files of `dist` that the program has loaded as code when it ends. */
async function loadedBy(args: readonly string[]): Promise<string[]> {
  const hook = path.join(await temporaryFolder(), "loaded.cjs");
  const report = 'process.on("exit", () => process._rawDebug(Object.keys(require.cache).join("\\n")));';
  await writeFile(hook, report);
  const bin = path.join(ROOT, "bin/imggen.cjs");
  const env = { PATH: process.env.PATH, IMGGEN_HOME: await temporaryFolder() };
  const { stderr } = await run(process.execPath, ["--require", hook, bin, ...args], { env });
  return stderr.split("\n").filter((file) => file.startsWith(DIST));
}

async function textOf(files: readonly string[]): Promise<string> {
  const code = files.filter((file) => file.endsWith(".cjs"));
  return (await Promise.all(code.map((file) => readFile(file, "utf8")))).join("\n");
}
