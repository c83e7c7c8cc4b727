// Writes the types of the package's API as one file, which says the same to `import` and to `require`.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { generateDtsBundle } from "dts-bundle-generator";
import { writeOptionTypes } from "./option-types.js";

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
execFileSync(process.execPath, [tsc, "--project", ".tsconfig.types.json"], { stdio: "inherit" });
writeOptionTypes("dist/types/client/options/call-options.d.ts");
const output = { noBanner: true, exportReferencedTypes: false };
const bundled = ["client/index", "providers/package/interface"].map((name) => ({
  filePath: `dist/types/${name}.d.ts`,
  output,
}));
const [types, provider] = generateDtsBundle(bundled, { preferredConfigPath: ".tsconfig.types.json" });
rmSync("dist/types", { recursive: true });
// Symbol.asyncDispose, which compilers know by itself only from es2026 on.
writeFileSync("dist/client.d.cts", `/// <reference lib="esnext.disposable" />\n${types}`);
// The interface for packages that make images: types alone.
writeFileSync("dist/provider.d.cts", provider);
// As the code does: an ES module that passes on what the CommonJS one exports. So an error is of one class.
writeFileSync("dist/index.d.ts", 'export * from "./client.cjs";\n');
