import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { WORDS } from "../src/sandbox/directives.ts";
import { SETTING_NAMES, SETTINGS } from "../src/store/settings-table.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const textOf = (name: string) => readFileSync(path.join(ROOT, name), "utf8");

it("README.md has at most 320 lines", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(320);
});

describe("the pages in .github/docs", () => {
  it.each(SETTING_NAMES)("have the setting %s in a table, with the variable", (name) => {
    const { variable } = SETTINGS[name];
    const cell = variable === undefined ? "" : `\`${variable}\` `;
    expect(textOf(".github/docs/settings.md")).toContain(`\n| \`${name}\` | ${cell}|`);
  });

  it.each(WORDS)("have [sandbox:%s] in a table, as the help of imggen sandbox has", (word) => {
    expect(textOf(".github/docs/sandbox.md")).toContain(`\n| \`[sandbox:${word}]\` |`);
    expect(textOf("src/cli/commands/sandbox.ts")).toContain(`[sandbox:${word}]`);
  });
});

const DOCUMENTS = [
  "README.md",
  ".github/CONTRIBUTING.md",
  ".github/SECURITY.md",
  ...readdirSync(path.join(ROOT, ".github/docs")).map((name) => `.github/docs/${name}`),
  "test/README.md",
];

it.each(DOCUMENTS)("every link in %s to a file of this repository leads to one", (name) => {
  const links = [...textOf(name).matchAll(/\]\(((?!https?:|#)[^)#\s]+)/g)].map(([, to = ""]) => to);
  const broken = links.filter((to) => !existsSync(path.join(ROOT, path.dirname(name), to)));
  expect(broken).toEqual([]);
});

it("every file of the source and the tests that CONTRIBUTING names is there", () => {
  const named = [
    ...textOf(".github/CONTRIBUTING.md").matchAll(/`((?:src|test|cli|client|core|models)\/[\w./-]+)`/g),
  ];
  const paths = named.map(([, name = ""]) => name);
  const isThere = (name: string) => ["", "src"].some((folder) => existsSync(path.join(ROOT, folder, name)));
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((name) => !isThere(name))).toEqual([]);
});
