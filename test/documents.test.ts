import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { VARIABLES } from "../src/client/effective-settings.ts";
import { WORDS } from "../src/sandbox/directives.ts";
import { SETTING_NAMES } from "../src/store/settings-file.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const textOf = (name: string) => readFileSync(path.join(ROOT, name), "utf8");

/** A Markdown text as it is shown before anything is unfolded. */
function unfolded(text: string): string[] {
  let depth = 0;
  return text.split("\n").filter((line) => {
    if (line === "<details>") depth += 1;
    const shown = depth === 0 || (depth === 1 && line.startsWith("<summary>"));
    if (line === "</details>") depth -= 1;
    return shown;
  });
}

describe("README.md", () => {
  it("shows at most 200 lines before anything is unfolded", () => {
    expect(unfolded("a\n<details>\n<summary>b</summary>\nc\n</details>\nd")).toHaveLength(3);
    expect(unfolded(textOf("README.md")).length).toBeLessThanOrEqual(200);
  });

  it("closes every part that it folds", () => {
    const count = (line: string) => textOf("README.md").split(`\n${line}\n`).length;
    expect(count("</details>")).toBe(count("<details>"));
  });

  it.each(SETTING_NAMES)("has the setting %s in its table, with the variable", (name) => {
    const variable = VARIABLES[name];
    const cell = variable === undefined ? "" : `\`${variable}\` `;
    expect(textOf("README.md")).toContain(`\n| \`${name}\` | ${cell}|`);
  });

  it.each(WORDS)("has [sandbox:%s] in its table, as the help of imggen sandbox has", (word) => {
    expect(textOf("README.md")).toContain(`\n| \`[sandbox:${word}]\` |`);
    expect(textOf("src/cli/commands/sandbox.ts")).toContain(`[sandbox:${word}]`);
  });
});

it.each([
  "README.md",
  ".github/CONTRIBUTING.md",
  ".github/SECURITY.md",
  "test/README.md",
  "test/faults/README.md",
])("every link in %s to a file of this repository leads to one", (name) => {
  const links = [...textOf(name).matchAll(/\]\(((?!https?:|#)[^)#\s]+)/g)].map(([, to = ""]) => to);
  const broken = links.filter((to) => !existsSync(path.join(ROOT, path.dirname(name), to)));
  expect(broken).toEqual([]);
});
