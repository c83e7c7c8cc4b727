import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type RolldownOptions, rolldown } from "rolldown";
import { expect, it } from "vitest";
import { packedInto } from "../support/packed.ts";
import { ROOT } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const DIST = path.join(ROOT, "dist");
const run = promisify(execFile);

it("the package holds the program, its types and its papers, and nothing else", async () => {
  const folder = await temporaryFolder();
  const tarball = await packedInto(folder);
  const { stdout } = await run("tar", ["xvzf", tarball], { cwd: folder });
  const names = stdout
    .trim()
    .split("\n")
    .map((name) => name.slice("package/".length))
    .sort();
  const chunk = /^dist\/chunks\/[\w-]+\.cjs$/;
  expect(names.filter((name) => !chunk.test(name))).toEqual([
    "LICENSE",
    "README.md",
    "bin/imggen.cjs",
    "dist/THIRD-PARTY-LICENSES.txt",
    "dist/client.cjs",
    "dist/client.d.cts",
    "dist/commands.json",
    "dist/completions/_imggen",
    "dist/completions/imggen.bash",
    "dist/completions/imggen.fish",
    "dist/completions/imggen.ps1",
    "dist/help.txt",
    "dist/imggen.1",
    "dist/index.d.ts",
    "dist/index.js",
    "dist/main.cjs",
    "dist/provider.d.cts",
    "dist/sbom.cdx.json",
    "package.json",
  ]);
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(path.join(folder, "package", name))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(1.9 * 1024 * 1024);
});

it("the published package.json says what a user needs, and nothing that only a clone does", async () => {
  const folder = await temporaryFolder();
  const { stdout } = await run("tar", ["xOzf", await packedInto(folder), "package/package.json"]);
  const published = JSON.parse(stdout);
  expect(Object.keys(published).sort()).toEqual([
    "bin",
    "bugs",
    "description",
    "engines",
    "exports",
    "homepage",
    "keywords",
    "license",
    "man",
    "name",
    "optionalDependencies",
    "repository",
    "type",
    "version",
  ]);
  expect(published).toMatchObject({ bin: { imggen: "bin/imggen.cjs" }, man: ["dist/imggen.1"] });
});

it("npm pack --json in a clone prints nothing but JSON, although it builds, and nobody publishes the clone", async () => {
  const folder = await temporaryFolder();
  // Not this clone itself, which other tests read while it would be built.
  for (const name of ["package.json", "README.md", "LICENSE", "bin", "dist", ".build"])
    await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  const manifest = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  manifest.scripts.build = "echo a report of the build";
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  const packed = await run("npm", ["pack", "--json"], { cwd: folder });
  expect(JSON.parse(packed.stdout)).toMatchObject([{ name: "imggen" }]);
  expect(packed.stderr).toContain("a report of the build");
  expect(manifest.private).toBe(true);
});

it("the package's API is the same, imported and required", async () => {
  const folder = await temporaryFolder();
  await run("tar", ["xzf", await packedInto(folder)], { cwd: folder });
  const script = `const api = require("imggen");
    import("imggen").then((module) => console.log(Object.keys(module).map((name) => [name, module[name] === api[name]])));`;
  const api = await run(process.execPath, ["-e", script], { cwd: path.join(folder, "package") });
  expect(api).toEqual({ stdout: "[ [ 'ImggenFailure', true ], [ 'createClient', true ] ]\n", stderr: "" });
});

it("licences and bill of materials name exactly the packages that the bundles hold, by name and version", async () => {
  const folder = await temporaryFolder();
  await buildWithSourceMaps(folder);
  const sources = await sourcesInMaps(folder);
  const folders = sources.flatMap(
    (source) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? [],
  );
  // What libraries carry inside: their own build has marked it.
  for (const source of sources.filter((each) => each.includes("/node_modules/"))) {
    const code = await readFile(source, "utf8");
    for (const [, name = ""] of code.matchAll(/^\/\/#region .*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm))
      folders.push(path.join(ROOT, "node_modules", name));
  }
  const bundled = [...new Set(folders)].map((each) => {
    const { name, version } = JSON.parse(readFileSync(path.join(each, "package.json"), "utf8"));
    return `${name} ${version}`;
  });
  expect(bundled.join()).toContain("content-type 1");
  const text = (name: string) => readFile(path.join(folder, name), "utf8");
  expect(licensed(await text("THIRD-PARTY-LICENSES.txt"))).toEqual(bundled.sort());
  expect(components(await text("sbom.cdx.json"))).toEqual(bundled);
  for (const name of ["THIRD-PARTY-LICENSES.txt", "sbom.cdx.json"])
    expect(await readFile(path.join(DIST, name), "utf8"), name).toBe(await text(name));
  // The program and the API share all they have in common, the HTTP library first of all.
  expect(sources.filter((source, at) => sources.indexOf(source) !== at)).toEqual([]);
});

/** The packages that the file of licences names, each above a text with a copyright, by name and version. */
function licensed(licenses: string): string[] {
  const names = licenses.split("\n\n\n").flatMap((entry) => {
    const [, heading] = /^((?:\S+ \d+\.\d+\.\d+\S* \([\w.-]+\)\n)+)\n.*copyright/is.exec(entry) ?? [];
    return heading?.trim().split("\n") ?? [entry];
  });
  return names.map((name) => name.replace(/ \(.*\)$/, "")).sort();
}

/** The components of a bill of materials, by name and version. */
function components(sbom: string): string[] {
  const { bomFormat, components, dependencies } = JSON.parse(sbom);
  expect(bomFormat).toBe("CycloneDX");
  const purls: string[] = components.map(({ purl }: { purl: string }) => purl);
  expect(dependencies).toEqual([{ ref: expect.stringMatching(/^pkg:npm\/imggen@/), dependsOn: purls }]);
  const parts = purls.map((purl) => /^pkg:npm\/(.+)@(.+)$/.exec(purl) ?? []);
  return parts.map(([, name, version]) => `${decodeURIComponent(name ?? "")} ${version}`).sort();
}

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
