// Builds the program and the package's API into dist: `node .build/program.js`. It says something only where something
// is wrong, as `npm install` runs it. Other build output stays, such as the tarball and the executable in dist/release.
import { rmSync } from "node:fs";
import { rolldown } from "rolldown";
import config from "../.rolldown.config.js";

const { output, ...input } = config;
const bundle = await rolldown(input);
// Names of chunks change with their content.
rmSync("dist/chunks", { recursive: true, force: true });
await bundle.write(output);
await bundle.close();
