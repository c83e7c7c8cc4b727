import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "rolldown";

// Everything is bundled, so an install is one tarball. The program and the package's API are built apart: what
// the program always needs is then one file, and every dynamic import is a chunk that loads when it runs.
export default defineConfig([
  { ...common(), input: { main: "src/cli/main.ts" }, output: output("chunks/cli") },
  { ...common(), input: { index: "src/core/index.ts" }, output: output("chunks/api") },
]);

function common() {
  return { platform: "node", preserveEntrySignatures: "allow-extension", plugins: [licenses()] };
}

function output(chunks) {
  return {
    dir: "dist",
    format: "esm",
    // Names stay: errors show theirs.
    minify: { mangle: { keepNames: { class: true, function: false } } },
    chunkFileNames: `${chunks}/[name]-[hash].js`,
  };
}

/** The licences of what is bundled ask to go with every copy of it. */
function licenses() {
  return {
    name: "licenses",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
      const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
      const texts = [...new Set(folders)].sort().map(licenseOf);
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source: texts.join("\n\n") });
    },
  };
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = existsSync(folder) && readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? readFileSync(path.join(folder, file), "utf8").trim() : "";
  return `${name} ${version} (${license})\n\n${text}`;
}
