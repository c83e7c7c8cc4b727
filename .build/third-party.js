import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * Beside the program: the licences of what is bundled, which ask to go with every copy of it, and the same packages as a
 * bill of materials (CycloneDX), because no package manager sees what is inside a bundle.
 */
export function thirdParty() {
  return {
    name: "third-party",
    writeBundle({ dir }, bundle) {
      const packages = bundledIn(bundle);
      writeFileSync(path.join(dir, "THIRD-PARTY-LICENSES.txt"), licenses(packages));
      writeFileSync(path.join(dir, "sbom.cdx.json"), `${JSON.stringify(billOfMaterials(packages))}\n`);
    },
  };
}

/** The packages of which code is in the bundle, by name. */
function bundledIn(bundle) {
  const folders = new Set();
  for (const { modules = {} } of Object.values(bundle)) {
    for (const [id, { renderedLength }] of Object.entries(modules)) {
      const folder = PACKAGE_FOLDER.exec(id)?.[0];
      if (folder === undefined || renderedLength === 0) continue;
      folders.add(folder);
      for (const name of carriedIn(readFileSync(id, "utf8"))) folders.add(path.resolve("node_modules", name));
    }
  }
  const packages = [...folders].map((folder) => ({ folder, ...factsOf(folder) }));
  return packages.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const PACKAGE_FOLDER = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

/**
 * The packages that a library's own build has put into its files. Those that nothing else installs are development
 * dependencies, for their licences.
 */
function carriedIn(code) {
  return [...code.matchAll(/^\/\/#region .*\bnode_modules\/((?:@[^/\n]+\/)?[^/\n]+)/gm)].map(
    ([, name]) => name,
  );
}

function factsOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  return { name, version, license };
}

/** Each licence's text once, below the packages that it is the licence of. */
function licenses(packages) {
  const headings = new Map();
  for (const { folder, name, version, license } of packages) {
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file to go with the bundle`);
    const text = readFileSync(path.join(folder, file), "utf8").trim();
    headings.set(text, [...(headings.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const entries = [...headings].map(([text, names]) => `${names.join("\n")}\n\n${text}`);
  return `${entries.join("\n\n\n")}\n`;
}

/** Has no date, so that the same bundle has the same bill. */
function billOfMaterials(packages) {
  const program = componentOf({ type: "application", ...factsOf(".") });
  const components = packages.map((each) => componentOf({ type: "library", ...each }));
  const refs = components.map((component) => component["bom-ref"]);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf([program["bom-ref"], ...refs].join("\n"))}`,
    version: 1,
    metadata: { component: program },
    components,
    dependencies: [{ ref: program["bom-ref"], dependsOn: refs }],
  };
}

function componentOf({ type, name, version, license }) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const [, group, plain] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const named = group === undefined ? { name } : { group, name: plain };
  const isOne = /^[\w.-]+$/.test(license);
  const licenses = isOne ? [{ license: { id: license } }] : [{ expression: license }];
  return { type, "bom-ref": purl, ...named, version, purl, licenses };
}

/** A UUID of a text (version 8, whose digits are the application's own). */
function uuidOf(text) {
  const digits = createHash("sha256").update(text).digest("hex");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}
