import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SRC = path.join(import.meta.dirname, "..", "src");

/** Participles without their noun. Left out: `left`, a direction, and `saved`, `lost`, `gone`, `taken`, which lines of the ledger have. */
const PARTICIPLES = new Set(
  (
    "own given those known kept settled meant said asked made told shown listed found named sent begun ended held " +
    "wanted needed used chosen marked written counted placed tried"
  ).split(" "),
);

/** Words of the glossary's last column that have no other meaning in code, and `most` for a maximum. */
const REPLACED =
  /^(?:most[A-Z]|MOST_|LONGEST_|LARGEST_)|patience|standing|doubt|journal|hosted|admission|breaker|limiter$|draft|^(?:order|places?)$/i;

const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((name) => name.split(path.sep).join("/"))
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"));

/** The names that a text declares and the glossary refuses, each with its line. Keys of JSON are properties, and not checked. */
function refusedNames(text: string): string[] {
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
  const refused: string[] = [];
  const visit = (node: ts.Node): void => {
    const isDeclared =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) ||
      ts.isMethodDeclaration(node);
    if (isDeclared && node.name !== undefined && ts.isIdentifier(node.name)) {
      const name = node.name.text;
      const { line } = file.getLineAndCharacterOfPosition(node.name.getStart());
      if (PARTICIPLES.has(name) || REPLACED.test(name)) refused.push(`${line + 1} ${name}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return refused;
}

describe("a name in src", () => {
  it("is none that the glossary refuses", () => {
    const refused = FILES.flatMap((name) =>
      refusedNames(readFileSync(path.join(SRC, name), "utf8")).map((each) => `${name}:${each}`),
    );
    expect(refused).toEqual([]);
  });

  it.each([
    ["const found = 1;", ["1 found"]],
    ["function f({ a: given }) {}", ["1 given"]],
    ["export const MOST_BYTES = 1,\n  PATIENCE_MS = 2;", ["1 MOST_BYTES", "2 PATIENCE_MS"]],
    ["class Breaker { held() {} }", ["1 Breaker", "1 held"]],
    ["interface Line { kept: string; }\nconst keptFolder = 1;", []],
  ])("is refused or not: %s", (text, names) => {
    expect(refusedNames(text)).toEqual(names);
  });
});
