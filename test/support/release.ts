import { readFileSync } from "node:fs";

const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

/** What a build puts in place of names in the source, as `.rolldown.config.js` does. */
export const DEFINE = { IMGGEN_VERSION: JSON.stringify(manifest.version) };
