import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "rolldown";

// A file costs half a millisecond to find and load, so what always loads together is one: what every start needs;
// what a command needs to check a request; the ledger; and what buys. Each takes along what it imports and no
// file before it has taken.
const TOGETHER = {
  start: "cli/main",
  command: "cli/(commands/generate|purchase|failure|json|to-json|session)",
  account: "(cli/(account|format)|lib/redact)",
  early: "cli/open-early",
  ledger: "(cli/ledger|core/(history|report))",
  // The second is started later, but what is paid for must be saved even if the program's files are gone by then.
  wire: "(cli/(buy|render)|api/public-address)",
};
const groups = Object.entries(TOGETHER).map(([name, modules], index, all) => ({
  name,
  test: new RegExp(`/src/${modules}\\.ts$`.replaceAll("/", "[\\\\/]")),
  priority: all.length - index,
}));

// Everything is bundled, so an install is one tarball; every dynamic import is a chunk that loads when it runs.
// The program is built as CommonJS, which Node starts in two thirds of the time that the same code takes as
// ES modules; the package's API is an ES module.
export default defineConfig([
  { ...common(), input: { main: "src/cli/main.ts" }, output: output("cjs", "cjs") },
  { ...common(), input: { index: "src/core/index.ts" }, output: output("esm", "js") },
]);

function common() {
  return {
    platform: "node",
    preserveEntrySignatures: "allow-extension",
    plugins: [withoutChildProcess(), withoutNodeHttp(), licenses()],
  };
}

function output(format, extension) {
  return {
    dir: "dist",
    format,
    // Names stay: errors show theirs.
    minify: { mangle: { keepNames: { class: true, function: false } } },
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `chunks/[name]-[hash].${extension}`,
    ...(format === "cjs" && { codeSplitting: { groups } }),
  };
}

/**
 * commander can run a subcommand as a program of its own, which none of ours is. Only for that it loads Node's
 * child_process, which takes a tenth of the time that an empty script takes to run.
 */
function withoutChildProcess() {
  const stub = "\0no-child-process";
  return {
    name: "without-child-process",
    resolveId: (source, importer) =>
      source === "node:child_process" && /\/commander\//.test(importer ?? "") ? stub : null,
    load: (id) => (id === stub ? "export default {};" : null),
  };
}

/**
 * Of Node's own HTTP, undici needs a number and a class to compare with, and HTTP/2, which loads TLS, for a kind of
 * connection that none of ours is. Together they take a quarter of the time that an empty script takes to run.
 */
function withoutNodeHttp() {
  const stubs = {
    // Node's default for the number.
    "node:http": "module.exports = { maxHeaderSize: 16384, IncomingMessage: class {} };",
    // What undici itself falls back to on a Node that was built without it.
    "node:http2": "module.exports = { constants: {} };",
  };
  const mark = "\0without-";
  return {
    name: "without-node-http",
    resolveId: (source, importer) =>
      source in stubs && /[\\/]undici[\\/]/.test(importer ?? "") ? mark + source : null,
    load: (id) => (id.startsWith(mark) ? stubs[id.slice(mark.length)] : null),
  };
}

/** The folders of all packages that the builds of one run have bundled so far. */
const bundledPackages = new Set();

/**
 * The licences of what is bundled ask to go with every copy of it. One file for all builds: each writes it anew with
 * what those before it have bundled too.
 */
function licenses() {
  return {
    name: "licenses",
    writeBundle({ dir }, bundle) {
      for (const { modules = {} } of Object.values(bundle)) {
        for (const [id, { renderedLength }] of Object.entries(modules)) {
          const folder = PACKAGE_FOLDER.exec(id)?.[0];
          if (folder !== undefined && renderedLength > 0) bundledPackages.add(folder);
        }
      }
      const texts = [...bundledPackages].map(licenseOf).sort();
      writeFileSync(path.join(dir, "THIRD-PARTY-LICENSES.txt"), `${texts.join("\n\n\n")}\n`);
    },
  };
}

const PACKAGE_FOLDER = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file to go with the bundle`);
  return `${name} ${version} (${license})\n\n${readFileSync(path.join(folder, file), "utf8").trim()}`;
}
