// Prints what the change log says of a release: `node .ci/release-notes.js v1.2.3`. Fails where the tag is not the version
// in package.json, and where the log has no section of it.
import { readFileSync } from "node:fs";

const textOf = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");

const [tag = ""] = process.argv.slice(2);
const { version } = JSON.parse(textOf("package.json"));
if (tag !== `v${version}`) throw new Error(`The tag ${tag} is not the version in package.json, ${version}.`);
const sections = textOf(".github/CHANGELOG.md").split(/^## /m).slice(1);
const section = sections.find((each) => each.split(/\s/, 1)[0] === version);
const notes = section?.replace(/^.*\n/, "").trim();
if (!notes) throw new Error(`.github/CHANGELOG.md has no section "## ${version}".`);
console.log(notes);
