import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "rolldown";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

// A file costs half a millisecond to find and load, so what always loads together is one: what every start needs;
// what reads settings or models, which needs no node:crypto (3 ms); what checks a request; what connects; the ledger;
// what submits; and what is loaded once the submit is sent. Each takes along what it imports and no file before it has
// taken.
const TOGETHER = {
  start: "cli/(app/main|session/command|text/fit)",
  session: "(cli/session/session|models/(find|known-values|labels|errors)|lib/whole-number)",
  // What a dry run needs.
  command: "cli/(commands/generate/(generate|run-request)|flags/generate-flags|text/phrases)",
  early: "(client/(open-early|account|failure|report-json)|lib/redact)",
  ledger: "(client/open-ledger|core/(use-cases/history|task/report))",
  wire: "cli/(commands/generate/submit-shown|output/render)",
  // What an accepted task needs; and undici.
  finish: "(core/task/finish|api/public-address)",
  polls: "api/shared-connections",
  batch: "(cli/commands/batch/(batch|run-shown|summary)|core/batch/(batch-spec|checked-rows|row-files))",
  // Takes zod along, so that what reads the ledger need not load the library for it.
  matrix: "models/matrix-file/read",
  // What the API's own file holds would be exported from it beside the API.
  library: "client/create-client",
  // Only for terminals: how wide a text is on one takes longer to load than the program itself.
  terminal: "cli/(text/columns|output/(live-line|saved-lines))",
};
const groups = Object.entries(TOGETHER).map(([name, modules], index, all) => ({
  name,
  test: new RegExp(`/src/${modules}\\.ts$`.replaceAll("/", "[\\\\/]")),
  priority: all.length - index,
}));

// Everything is bundled, so an install is one tarball; every dynamic import is a chunk that loads when it runs.
// All of it is CommonJS, which Node starts in two thirds of the time that the same code takes as ES modules. The
// program and the package's API are one build, so that each library is in the package once.
export default defineConfig({
  transform: { define: { IMGGEN_VERSION: JSON.stringify(version) } },
  platform: "node",
  // Native code, and optional: it is installed beside the program where there is a build of it.
  external: ["sharp"],
  input: { main: "src/cli/app/main.ts", client: "src/client/index.ts" },
  preserveEntrySignatures: "allow-extension",
  plugins: [standIns(), rawTexts(), licenses(), moduleOfClient(), selfDescription()],
  output: {
    dir: "dist",
    format: "cjs",
    // Names stay: errors show theirs.
    minify: { mangle: { keepNames: { class: true, function: false } } },
    entryFileNames: "[name].cjs",
    chunkFileNames: "chunks/[name]-[hash].cjs",
    codeSplitting: { groups },
  },
});

/**
 * What the program says of itself, beside it: the manual page, its help as a pipe gets it, and its commands as JSON,
 * which shell completion reads because to build the command tree takes too long for a key press.
 */
function selfDescription() {
  return {
    name: "self-description",
    writeBundle({ dir }) {
      const main = JSON.stringify(path.resolve(dir, "main.cjs"));
      for (const [file, args] of [
        ["commands.json", ["--help", "--json"]],
        ["imggen.1", ["help", "man"]],
        // Not `--help` alone: that would print the file of the last build.
        ["help.txt", ["--help", "--no-color"]],
      ]) {
        const script = `require(${main}).main(${JSON.stringify(args)}).then((code) => process.exit(code))`;
        writeFileSync(path.join(dir, file), execFileSync(process.execPath, ["--eval", script], { env: {} }));
      }
    },
  };
}

/**
 * The package's API, which is CommonJS, as an ES module with the names that it exports; and its types for `require`. Those
 * are the ES module's own, so that an error is of one class however a program got the package.
 */
function moduleOfClient() {
  return {
    name: "module-of-client",
    writeBundle({ dir }, bundle) {
      const names = Object.values(bundle).find(({ name, isEntry }) => isEntry && name === "client").exports;
      const code = `import client from "./client.cjs";\n\nexport const { ${names.join(", ")} } = client;\n`;
      writeFileSync(path.join(dir, "index.js"), code);
      writeFileSync(path.join(dir, "client.d.cts"), TYPES_FOR_REQUIRE);
    },
  };
}

const TYPES_FOR_REQUIRE = `\
import type * as api from "./types/client/index.d.ts" with { "resolution-mode": "import" };
export type * from "./types/client/index.d.ts" with { "resolution-mode": "import" };
export declare const createClient: typeof api.createClient;
export declare const ImggenFailure: typeof api.ImggenFailure;
export type ImggenFailure = api.ImggenFailure;
`;

/**
 * Modules that a library loads for what the program never does, and what stands in for them. Each is a part of Node that
 * takes so long to load that a start, or a submit, is measurably faster without.
 */
const STAND_INS = [
  // For subcommands that are programs of their own: 3 ms of every start.
  { library: "commander", module: "node:child_process", code: "export default {};" },
  // For HTTP/2, which is off: 10 ms while the reply to the submit, with the task id in it, may already be there.
  { library: "undici", module: "./client-h2.js", code: "module.exports = {};" },
];

function standIns() {
  const mark = "\0stand-in:";
  return {
    name: "stand-ins",
    resolveId(source, importer = "") {
      const index = STAND_INS.findIndex(
        ({ library, module }) => module === source && new RegExp(`[\\\\/]${library}[\\\\/]`).test(importer),
      );
      return index === -1 ? null : mark + index;
    },
    load: (id) => (id.startsWith(mark) ? STAND_INS[id.slice(mark.length)].code : null),
  };
}

/** `import text from "./page.css?raw"`: the file's text. */
function rawTexts() {
  const isRaw = (id) => id.endsWith("?raw");
  return {
    name: "raw-texts",
    resolveId: (source, importer = "") =>
      isRaw(source) ? path.resolve(path.dirname(importer), source) : null,
    load: (id) =>
      isRaw(id)
        ? {
            code: `export default ${JSON.stringify(readFileSync(id.slice(0, -"?raw".length), "utf8"))};`,
            moduleType: "js",
          }
        : null,
  };
}

/** The licences of what is bundled ask to go with every copy of it. */
function licenses() {
  return {
    name: "licenses",
    writeBundle({ dir }, bundle) {
      const folders = new Set();
      for (const { modules = {} } of Object.values(bundle)) {
        for (const [id, { renderedLength }] of Object.entries(modules)) {
          const folder = PACKAGE_FOLDER.exec(id)?.[0];
          if (folder === undefined || renderedLength === 0) continue;
          folders.add(folder);
          for (const name of carriedIn(readFileSync(id, "utf8")))
            folders.add(path.resolve("node_modules", name));
        }
      }
      const texts = [...folders].map(licenseOf).sort();
      writeFileSync(path.join(dir, "THIRD-PARTY-LICENSES.txt"), `${texts.join("\n\n\n")}\n`);
    },
  };
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

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file to go with the bundle`);
  return `${name} ${version} (${license})\n\n${readFileSync(path.join(folder, file), "utf8").trim()}`;
}
