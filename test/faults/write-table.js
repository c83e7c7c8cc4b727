// Writes test/faults/README.md: every fault that must be survived, with the title of the test that proves it, then
// the titles of all other tests of these files. It fails where a fault's test is not there; `--check` writes nothing.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest } from "vitest/node";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, "../..");
const TABLE = path.join(HERE, "README.md");
const AREAS = JSON.parse(readFileSync(path.join(HERE, "must-be-survived.json"), "utf8"));

const INTRODUCTION = `# Faults that are survived

Each row is a fault and the title of the test that proves what imggen does about it: against the built program with
real sockets and real disks, and for what is only viewed in the test's own process. Below each table are the titles of
the area's other tests.

\`npm run faults:table\` writes this file from the tests and from \`must-be-survived.json\`, which names the test of
each fault. Do not edit it by hand.
`;

/** The titles of all tests of these files as sentences, by file; those that a platform skips are among them. */
async function collectTitles(files) {
  const config = path.join(ROOT, "test/vitest.config.ts");
  const vitest = await createVitest("test", { config, watch: false, reporters: [{}] });
  const { testModules } = await vitest.collect(files);
  const titles = new Map();
  for (const { moduleId, children } of testModules)
    titles.set(
      path.relative(ROOT, moduleId).replaceAll(path.sep, "/"),
      [...children.allTests()].map(sentence),
    );
  await vitest.close();
  return titles;
}

/** A test's title after those of the groups that it is in, which is how both are written. */
function sentence({ name, parent }) {
  return parent.type === "suite" ? `${sentence(parent)} ${name}` : name;
}

const cell = (text) => text.replaceAll("|", "\\|").replaceAll("<", "\\<");

function areaText([area, { files, faults }], titlesOf) {
  const titles = files.flatMap((file) => {
    const own = titlesOf.get(file);
    if (own === undefined) throw new Error(`${area}: ${file} has no tests`);
    return own;
  });
  const others = new Set(titles);
  for (const [fault, title] of Object.entries(faults)) {
    if (!titles.includes(title))
      throw new Error(`${area}: no test proves "${fault}" under the title "${title}"`);
    others.delete(title);
  }
  const links = files.map((file) => `[${path.basename(file)}](${path.relative("test/faults", file)})`);
  const rows = Object.entries(faults).map(([fault, title]) => `| ${cell(fault)} | ${cell(title)} |`);
  return [
    `## ${area}`,
    links.join(", ").replaceAll("\\", "/"),
    ["| fault | test |", "|---|---|", ...rows].join("\n"),
    others.size === 0 ? "" : `Further tests:\n\n${[...others].map((title) => `- ${cell(title)}`).join("\n")}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

const allFiles = [...new Set(Object.values(AREAS).flatMap(({ files }) => files))];
for (const name of readdirSync(HERE).filter((each) => each.endsWith(".test.ts") && each !== "table.test.ts"))
  if (!allFiles.includes(`test/faults/${name}`))
    throw new Error(`${name} is in no area of must-be-survived.json`);
const titlesOf = await collectTitles(allFiles);
const text = `${[INTRODUCTION.trimEnd(), ...Object.entries(AREAS).map((area) => areaText(area, titlesOf))].join("\n\n")}\n`;
if (!process.argv.includes("--check")) writeFileSync(TABLE, text);
