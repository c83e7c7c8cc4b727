import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { DIRECTIVES } from "../src/sandbox/submit.ts";
import { SETTING_NAMES, SETTINGS } from "../src/store/settings-table.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const textOf = (name: string) => readFileSync(path.join(ROOT, name), "utf8");

it("README.md has at most 200 lines", () => {
  expect(textOf("README.md").split("\n").length).toBeLessThanOrEqual(200);
});

it("the picture of a terminal says in words what is seen, loads nothing, and has at most 200 kB", () => {
  const picture = textOf(".github/terminal.svg");
  expect(picture.length).toBeLessThan(200_000);
  expect(picture).toMatch(/<desc id="description">imggen in a terminal\. .{200,}<\/desc>/);
  expect(picture).not.toMatch(/<script|<image|\bhref|url\(|\/tmp\//);
});

describe("the pages in .github/docs", () => {
  it.each(SETTING_NAMES)("have the setting %s in a table, with the variable", (name) => {
    const { variable } = SETTINGS[name];
    const cell = variable === undefined ? "" : `\`${variable}\` `;
    expect(textOf(".github/docs/settings.md")).toContain(`\n| \`${name}\` | ${cell}|`);
  });

  it.each(DIRECTIVES)("have [sandbox:%s] in a table, as the help of imggen sandbox has", (word) => {
    expect(textOf(".github/docs/sandbox.md")).toContain(`\n| \`[sandbox:${word}]\` |`);
    expect(textOf("src/cli/commands/sandbox.ts")).toContain(`[sandbox:${word}]`);
  });
});

const DOCUMENTS = [
  "README.md",
  ".github/CONTRIBUTING.md",
  ".github/SECURITY.md",
  ".github/pull_request_template.md",
  ...["docs", "docs/help", "decisions", "ISSUE_TEMPLATE"].flatMap((folder) =>
    readdirSync(path.join(ROOT, ".github", folder))
      .filter((name) => /\.(?:md|yml)$/.test(name))
      .map((name) => `.github/${folder}/${name}`),
  ),
  "test/README.md",
];

it.each(DOCUMENTS)("every link in %s to a file of this repository leads to one", (name) => {
  const links = [...textOf(name).matchAll(/\]\(((?!https?:|#)[^)#\s]+)/g)].map(([, to = ""]) => to);
  const broken = links.filter((to) => !existsSync(path.join(ROOT, path.dirname(name), to)));
  expect(broken).toEqual([]);
});

/** The folders whose files a document names by their path from the root, or a room of `src` by its own name. */
const PATH = /`((?:src|test|bin|\.build|\.ci|\.github|cli|client|core|models)\/[\w./-]+)`/g;

it.each(DOCUMENTS)("every path in %s is there", (name) => {
  const paths = [...textOf(name).matchAll(PATH)].map(([, to = ""]) => to);
  const isThere = (to: string) =>
    ["", "src", path.dirname(name)].some((folder) => existsSync(path.join(ROOT, folder, to)));
  expect(paths.filter((to) => !isThere(to))).toEqual([]);
});

const RECIPES = ".github/docs/recipes.md";

it("CONTRIBUTING has at most 150 lines", () => {
  expect(textOf(".github/CONTRIBUTING.md").split("\n").length - 1).toBeLessThanOrEqual(150);
});

it("every file that CONTRIBUTING or a recipe names without its folder is one of the source or the tests", () => {
  const folders = ["src", "test"].map((name) => path.join(ROOT, name));
  const files = folders.flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }));
  const names = new Set(files.map((file) => path.basename(file)));
  const guide = [".github/CONTRIBUTING.md", RECIPES].map(textOf).join("");
  const named = [...guide.matchAll(/`([\w-]+\.ts)`/g)].map(([, to = ""]) => to);
  expect(named.length).toBeGreaterThan(3);
  expect(guide.match(PATH)?.length).toBeGreaterThan(60);
  expect(named.filter((to) => !names.has(to))).toEqual([]);
});

it("every name that a recipe says is in a file is there", () => {
  const text = textOf(RECIPES);
  const named = [...text.matchAll(/`(\w+)`(?: and `(\w+)`)? in `(src\/[\w./-]+)`/g)];
  expect(named.length).toBeGreaterThan(9);
  const isThere = (name: string | undefined, file: string) =>
    name === undefined || new RegExp(`\\b${name}\\b`).test(textOf(file));
  const missing = named.filter(
    ([, name, other, file = ""]) => ![name, other].every((each) => isThere(each, file)),
  );
  expect(missing.map(([said]) => said)).toEqual([]);
});

describe("the decisions", () => {
  const decisions = DOCUMENTS.filter((name) => name.startsWith(".github/decisions/"));

  it.each(decisions)("%s has its three parts, and is short", (name) => {
    const headings = textOf(name).match(/^##? .*/gm) ?? [];
    expect(headings.slice(1)).toEqual(["## Decided", "## Also considered", "## What would change our mind"]);
    expect(textOf(name).split("\n").length).toBeLessThanOrEqual(36);
  });

  it("are all listed in CONTRIBUTING", () => {
    const text = textOf(".github/CONTRIBUTING.md");
    const listed = [...text.matchAll(/\]\((decisions\/[^)]+)\)/g)].map(([, to]) => `.github/${to}`);
    expect(listed.sort()).toEqual([...decisions].sort());
  });
});

it.each(DOCUMENTS.filter((name) => name.endsWith(".yml")))("%s is a form that GitHub shows", (name) => {
  const { name: title, description, body } = parse(textOf(name));
  expect([title, description]).toEqual([expect.any(String), expect.any(String)]);
  const fields = body.filter(({ type }: { type: string }) => type !== "markdown");
  const ids = fields.map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const field of fields)
    expect(field).toMatchObject({ type: "textarea", attributes: { label: expect.any(String) } });
});
