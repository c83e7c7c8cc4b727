// Writes the types of options as interfaces with the docstrings of their rows: the tables themselves are not published.
import { writeFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

const SOURCE = path.resolve("src/client/options/call-options.ts");

/** Types that the interfaces name. */
const IMPORTS = [
  'import type { OnTaskProgress } from "../../core/engine/events.ts";',
  'import type { HistoryStatus } from "../../core/use-cases/history.ts";',
  'import type { ProviderFields } from "../../task/request-fields.ts";',
];

/** @param {string} target the file of declarations that is replaced */
export function writeOptionTypes(target) {
  const { config } = ts.readConfigFile(".tsconfig.types.json", ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
  const program = ts.createProgram([SOURCE], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(SOURCE);
  const comment = (node) => node?.jsDoc?.at(-1)?.getText() ?? "";
  const interfaces = source.statements.filter(isExportedType).map((alias) => {
    const members = checker
      .getTypeAtLocation(alias.name)
      .getProperties()
      .map((property) => {
        const docs = (property.declarations ?? []).map(comment).find((text) => text !== "") ?? "";
        const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
        const type = checker.typeToString(
          checker.getTypeOfSymbolAtLocation(property, source),
          undefined,
          ts.TypeFormatFlags.NoTruncation,
        );
        const text = docs === "" ? "" : `  ${docs.replace(/\n\s*/g, "\n   ")}\n`;
        return `${text}  ${property.name}${isOptional ? "?" : ""}: ${type};\n`;
      });
    const doc = comment(alias);
    return `${doc && `${doc}\n`}export interface ${alias.name.text} {\n${members.join("")}}\n`;
  });
  writeFileSync(target, [...IMPORTS, ...interfaces].join("\n"));
}

function isExportedType(statement) {
  return (
    ts.isTypeAliasDeclaration(statement) &&
    statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
  );
}
