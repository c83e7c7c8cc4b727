import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "rolldown";
import { standIns } from "./.build/stand-ins.js";
import { thirdParty } from "./.build/third-party.js";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

// A file costs half a millisecond to find and load, so what always loads together is one: what every start needs; what
// every command needs; what checks a request; what submits. Each takes along what it imports and no file before it has
// taken. The figures say how much more processor time a command takes without the group (median of 25, in turn): a group
// that is not worth 5 ms of `--version`, a dry run or a submit is none, and what follows a submit has none, because nobody
// would notice one.
const TOGETHER = {
  // The version, the help, and the folder of compiled code: Node compiles this at every start, and keeps what follows.
  main: ["cli/app/main"],
  // 21 ms of a dry run.
  start: ["cli/app/process-context", "cli/session/command", "cli/text/fit"],
  // The parser, and the session: 57 of the 137 ms of a dry run, 35 ms of a submit.
  session: [
    "cli/app/parse",
    "cli/session/session",
    "client/targets/target-in-effect",
    "client/options/command-table",
    "models/find",
    "models/invalid-request",
    "models/rules/model",
    "models/rules/quality",
    "models/rules/ratio",
    "lib/whole-number",
  ],
  // 63 of the 142 ms of a dry run, 40 ms of a submit.
  command: ["cli/commands/generate", "cli/commands/run-request", "client/request-plan", "cli/text/phrases"],
  // 43 of the 194 ms of a submit. The last of these are small parts that saving an image would load for itself.
  wire: [
    "cli/commands/submit-shown",
    "cli/output/render",
    "client/operations",
    "client/targets/service-connection",
    "lib/file-digest",
    "providers/failures",
    "models/provider-fields",
  ],
};
const groups = Object.entries(TOGETHER).map(([name, modules], index, all) => {
  const missing = modules.find((module) => !existsSync(new URL(`src/${module}.ts`, import.meta.url)));
  if (missing) throw new Error(`There is no src/${missing}.ts, which the chunk ${name} begins with.`);
  const test = new RegExp(`/src/(${modules.join("|")})\\.ts$`.replaceAll("/", "[\\\\/]"));
  return { name, test, priority: all.length - index };
});

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
  plugins: [standIns(), rawTexts(), thirdParty(), moduleOfClient(), selfDescription()],
  output: {
    dir: "dist",
    format: "cjs",
    // As require(): the loader of a single executable knows no import().
    dynamicImportInCjs: false,
    // Names stay: errors show theirs.
    minify: { mangle: { keepNames: { class: true, function: false } } },
    entryFileNames: "[name].cjs",
    chunkFileNames: "chunks/[name]-[hash].cjs",
    codeSplitting: { groups },
  },
});

/**
 * What the program says of itself, beside it: the manual page, its help as a pipe gets it, its commands as JSON, which
 * shell completion reads because to build the command tree takes too long for a key press, and the completions as files,
 * under the names that the shells look for.
 */
function selfDescription() {
  return {
    name: "self-description",
    writeBundle({ dir }) {
      mkdirSync(path.join(dir, "completions"), { recursive: true });
      const main = JSON.stringify(path.resolve(dir, "main.cjs"));
      for (const [file, args] of [
        ["commands.json", ["--help", "--json"]],
        ["imggen.1", ["help", "man"]],
        // Not `--help` alone: that would print the file of the last build.
        ["help.txt", ["--help", "--no-color"]],
        ["completions/imggen.bash", ["completion", "bash"]],
        ["completions/_imggen", ["completion", "zsh"]],
        ["completions/imggen.fish", ["completion", "fish"]],
        ["completions/imggen.ps1", ["completion", "powershell"]],
      ]) {
        const script = `require(${main}).main(${JSON.stringify(args)}).then((code) => process.exit(code))`;
        writeFileSync(path.join(dir, file), execFileSync(process.execPath, ["--eval", script], { env: {} }));
      }
    },
  };
}

/** The package's API, which is CommonJS, as an ES module with the names that it exports. */
function moduleOfClient() {
  return {
    name: "module-of-client",
    writeBundle({ dir }, bundle) {
      const names = Object.values(bundle).find(({ name, isEntry }) => isEntry && name === "client").exports;
      const code = `import client from "./client.cjs";\n\nexport const { ${names.join(", ")} } = client;\n`;
      writeFileSync(path.join(dir, "index.js"), code);
    },
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
