import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type TypeScript from "typescript";
import { describe, expect, it } from "vitest";
import { ts } from "../support/typescript.ts";
import { BUILT } from "./build-mutant.ts";
import { BATCH_MUTANTS } from "./mutants-batch.ts";
import { GENERATOR_MUTANTS } from "./mutants-generator.ts";
import { LEDGER_MUTANTS } from "./mutants-ledger.ts";
import { SAVING_MUTANTS } from "./mutants-saving.ts";
import { SUBMITTING_MUTANTS } from "./mutants-submitting.ts";
import {
  before,
  type Edit,
  edited,
  functionsOf,
  instead,
  mayHold,
  never,
  placesIn,
  returns,
  swapped,
  without,
} from "./operators.ts";

const MUTANTS = [
  ...LEDGER_MUTANTS,
  ...SUBMITTING_MUTANTS,
  ...SAVING_MUTANTS,
  ...BATCH_MUTANTS,
  ...GENERATOR_MUTANTS,
];
const SRC = path.join(BUILT, "src");

// Many are tried by `npm run crash` alone; that they can be planted is known sooner.
it("there is a place, and one only, for each planted bug", () => {
  const edits = MUTANTS.flatMap((mutant) => mutant.edits);
  const places = new Map(edits.map((edit): [Edit, string[]] => [edit, []]));
  const names = readdirSync(SRC, { recursive: true, encoding: "utf8" });
  for (const name of names.filter((each) => each.endsWith(".ts"))) {
    const code = readFileSync(path.join(SRC, name), "utf8");
    const candidates = [...places].filter(([edit]) => mayHold(code, edit));
    const functions = candidates.length === 0 ? [] : functionsOf(code);
    for (const [edit, files] of candidates) files.push(...placesIn(functions, edit).map(() => name));
  }
  const misfits = MUTANTS.flatMap(({ bug, edits }) =>
    edits
      .map((edit) => ({ bug, inside: edit.inside, operator: edit.operator, places: places.get(edit) }))
      .filter((edit) => edit.places?.length !== 1),
  );
  expect(misfits).toEqual([]);
});

// A bug whose code throws would be caught whatever it is.
it("the code of each planted bug names only what is in its file", () => {
  const names = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((each) =>
    each.endsWith(".ts"),
  );
  const unknown = names.flatMap((name) => {
    const code = readFileSync(path.join(SRC, name), "utf8");
    const fitting = MUTANTS.flatMap(({ bug, edits }) =>
      edits.map((edit) => ({ bug, ...edited(code, edit) })).filter(({ places }) => places === 1),
    );
    const known = fitting.length === 0 ? new Set<string>() : identifiersIn(code).all;
    return fitting.flatMap(({ bug, code: changed }) =>
      [...identifiersIn(changed).used]
        .filter((each) => !known.has(each) && !(each in globalThis))
        .map((each) => `${bug}: ${each}`),
    );
  });
  expect(unknown).toEqual([]);
});

/** The names in code, but those of properties; and without those of parameters and of what it destructures. */
function identifiersIn(code: string): { all: Set<string>; used: Set<string> } {
  const found = new Set<string>();
  const local = new Set<string>();
  const visit = (node: TypeScript.Node): void => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      if (ts.isParameter(parent) || ts.isVariableDeclaration(parent) || ts.isBindingElement(parent))
        local.add(node.text);
      const isProperty =
        (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
        (ts.isPropertyAssignment(parent) && parent.name === node);
      if (!isProperty) found.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("code.ts", code, ts.ScriptTarget.Latest, true));
  return { all: found, used: new Set([...found].filter((each) => !local.has(each))) };
}

describe("an edit", () => {
  const CODE = `class Disk {
  async save(text: string) {
    await this.#file?.write(text);
    if (this.isOpen) await sync();
  }
}
function erase() { write(); }
function save() { write(); }
const size = (disk: Disk) => disk.size;
`;

  it.for([
    ["leaves out a call", without("Disk.save", "#file.write"), "this.#file?.write(text);", "undefined;"],
    ["puts code around a call", instead("save", "sync", "$.then($)"), "sync()", "(sync().then(sync()))"],
    ["decides a condition", never("save", "isOpen"), "this.isOpen", "(false)"],
    ["adds code", before("erase", "go();"), "{ write(); }", "{ go(); { write(); } }"],
    ["decides a result", returns("size", "0"), "disk.size;", "{ return 0; { return (disk.size); } };"],
  ] as const)("%s", ([, edit, from, to]) => {
    expect(edited(CODE, edit)).toEqual({ code: CODE.replace(from, () => to), places: 1 });
  });

  it("swaps two statements of one block", () => {
    const code = "function f() { await write(1); show(2); if (x) { show(3); } }";
    const changed = "function f() { show(2); await write(1); if (x) { show(3); } }";
    expect(edited(code, swapped("f", "write", "show"))).toEqual({ code: changed, places: 1 });
  });

  it.for([
    ["several places", without("save", "write"), 2],
    ["no call of that name", without("save", "isOpen"), 0],
    ["no such function", without("Tape.save", "write"), 0],
  ] as const)("is not made where there is %s", ([, edit, places]) => {
    expect(edited(CODE, edit)).toEqual({ code: CODE, places });
  });
});
