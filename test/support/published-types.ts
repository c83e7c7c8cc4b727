import path from "node:path";
import type TypeScript from "typescript";
import { ROOT } from "./program.ts";
import { ts } from "./typescript.ts";

/** A published type: its members with their types and docstrings, or what it stands for. */
interface PublishedType {
  doc: string;
  is?: string;
  members?: Record<string, { type: string; doc: string }>;
}

const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias;

/** The types that a file of declarations exports, by name. */
export function publishedTypes(file: string): Record<string, PublishedType> {
  const typeRoots = [path.join(ROOT, "node_modules/@types")];
  const program = ts.createProgram([file], { strict: true, types: ["node"], typeRoots });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const exported = source && checker.getSymbolAtLocation(source);
  if (source === undefined || exported === undefined) throw new Error(`${file} exports nothing`);
  const docOf = (symbol: TypeScript.Symbol) =>
    ts.displayPartsToString(symbol.getDocumentationComment(checker)).replace(/\s+/g, " ");
  const textOf = (type: TypeScript.Type) => {
    const members = type.isUnion() ? type.types : [type];
    return [...new Set(members.map((each) => checker.typeToString(each, undefined, FORMAT)))]
      .sort()
      .join(" | ");
  };
  const described = (symbol: TypeScript.Symbol): PublishedType => {
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const doc = docOf(symbol);
    if (type.isUnion() || type.getProperties().length === 0) return { doc, is: textOf(type) };
    const members = type.getProperties().map((property): [string, { type: string; doc: string }] => {
      const of = checker.getTypeOfSymbolAtLocation(property, source);
      return [property.name.replace(/@\d+$/, ""), { type: textOf(of), doc: docOf(property) }];
    });
    return { doc, members: sorted(members) };
  };
  return sorted(checker.getExportsOfModule(exported).map((symbol) => [symbol.name, described(symbol)]));
}

function sorted<Value>(entries: readonly (readonly [string, Value])[]): Record<string, Value> {
  return Object.fromEntries([...entries].sort(([a], [b]) => a.localeCompare(b)));
}
