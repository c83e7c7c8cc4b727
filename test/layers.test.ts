import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type TypeScript from "typescript";
import { describe, expect, it } from "vitest";
import { ts } from "./support/typescript.ts";

const SOURCE = path.resolve(import.meta.dirname, "../src");

interface Import {
  /** Path below src/ for files of ours, else the module's name. */
  to: string;
  ours: boolean;
}

interface SourceFile {
  /** Path below src/, with forward slashes. */
  name: string;
  text: string;
  imports: Import[];
}

const FILES: SourceFile[] = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.split(path.sep).join("/"))
  .map((name) => {
    const text = readFileSync(path.join(SOURCE, name), "utf8");
    return { name, text, imports: importsOf(name, text) };
  });

/** What a file names with `import … from`, `export … from` and `import()`, types included. */
function importsOf(name: string, text: string): Import[] {
  return ts.preProcessFile(text).importedFiles.map(({ fileName }) => {
    const ours = fileName.startsWith(".");
    return { to: ours ? path.posix.join(path.posix.dirname(name), fileName) : fileName, ours };
  });
}

const layerOf = (name: string) => name.split("/", 1)[0] ?? "";

/** Which layers a layer may import from, itself aside, types included. */
const MAY_IMPORT: Record<string, { layers: string[]; files?: string[] }> = {
  // The sandbox is there to be started; nothing else of it is of use.
  cli: {
    layers: [
      "mcp",
      "serve",
      "client",
      "core",
      "gallery",
      "graphics",
      "models",
      "api",
      "store",
      "providers",
      "task",
      "lib",
    ],
    files: ["sandbox/server.ts"],
  },
  serve: { layers: ["server", "client", "core", "models", "store", "task", "lib"] },
  mcp: { layers: ["client", "core", "graphics", "models", "task", "lib"] },
  client: {
    layers: ["core", "models", "api", "store", "providers", "task", "lib"],
    // It is there to be started; nothing else of it is of use.
    files: ["sandbox/server.ts"],
  },
  // An image is converted to the type that its name says.
  core: { layers: ["models", "api", "store", "providers", "task", "lib"], files: ["graphics/decoder.ts"] },
  gallery: { layers: ["core", "graphics", "models", "store", "task", "lib"] },
  graphics: { layers: ["lib"] },
  api: { layers: ["task", "lib"] },
  store: { layers: ["task", "lib"] },
  models: { layers: ["task", "lib"] },
  server: { layers: ["models", "task", "lib"] },
  sandbox: {
    layers: ["server", "models", "task", "lib"],
    files: ["painter/draw-picture.ts", "painter/brief.ts"],
  },
  painter: { layers: [] },
  providers: { layers: ["api", "models", "task", "lib"] },
  task: { layers: ["lib"] },
  lib: { layers: [] },
};

/** Which rooms of `cli` each of them may import from, itself aside, types included. */
const ROOMS_OF_CLI: Record<string, string[]> = {
  app: ["commands", "completion", "help", "input", "output", "session", "text"],
  commands: ["completion", "help", "input", "output", "session", "text"],
  completion: ["help", "session", "text"],
  help: ["session", "text"],
  input: ["session", "text"],
  output: ["session", "text"],
  session: ["text"],
  text: [],
};

/** A topic of the help is a page of the documents. */
const HELP_PAGE = /^\.\.\/\.github\/docs\/help\/[\w-]+\.md\?raw$/;

function isAllowed(from: SourceFile, { to }: Import): boolean {
  const [own, other] = [layerOf(from.name), layerOf(to)];
  const rule = MAY_IMPORT[own];
  if (HELP_PAGE.test(to)) return from.name === "cli/help/show-topic.ts";
  return own === other || rule?.layers.includes(other) === true || rule?.files?.includes(to) === true;
}

/** `from → to` for every import that the question is true of. */
function importsWhere(question: (file: SourceFile, each: Import) => boolean): string[] {
  return FILES.flatMap((file) =>
    file.imports.filter((each) => question(file, each)).map(({ to }) => `${file.name} → ${to}`),
  );
}

describe("the source", () => {
  it("lies in the layers that are known, and is read by this test", () => {
    expect([...new Set(FILES.map(({ name }) => layerOf(name)))].sort()).toEqual(
      Object.keys(MAY_IMPORT).sort(),
    );
    expect(importsWhere((_file, { ours }) => ours).length).toBeGreaterThan(300);
  });

  it("imports in one direction: cli → mcp, serve → client → core → models, api, store → task → lib, and sandbox → painter, server → models, task, lib", () => {
    expect(importsWhere((file, each) => each.ours && !isAllowed(file, each))).toEqual([]);
  });

  it("imports in one direction within cli: app → commands → input, output → session → text", () => {
    const roomOf = (name: string) => name.split("/")[1] ?? "";
    const isUpward = ({ name }: SourceFile, { to }: Import) =>
      roomOf(name) !== roomOf(to) && !ROOMS_OF_CLI[roomOf(name)]?.includes(roomOf(to));
    const isOfCli = (name: string) => layerOf(name) === "cli";
    expect(
      importsWhere((file, each) => isOfCli(file.name) && isOfCli(each.to) && isUpward(file, each)),
    ).toEqual([]);
  });

  it("imports its own files by their whole names", () => {
    const names = new Set(FILES.map(({ name }) => name));
    const isText = (to: string) => to.endsWith("?raw");
    expect(importsWhere((_file, { ours, to }) => ours && !names.has(to) && !isText(to))).toEqual([]);
  });

  it("has no two files of one name, but a use case and its command", () => {
    const isPair = (names: string[]) =>
      names.length === 2 &&
      ["core/use-cases/", "cli/commands/"].every((room) => names.some((name) => name.startsWith(room)));
    const isNamesake = (name: string, other: string) =>
      path.posix.basename(name) === path.posix.basename(other);
    const names = FILES.map(({ name }) => name);
    const shared = names
      .map((name) => names.filter((other) => isNamesake(name, other)))
      .filter((same) => same.length > 1 && !isPair(same));
    expect(shared).toEqual([]);
  });

  it("has no circles, not even of types", () => {
    expect(circles()).toEqual([]);
  });
});

/** Every circle of imports that a walk through the files meets. */
function circles(): string[] {
  const byName = new Map(FILES.map((file) => [file.name, file]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (name: string, trail: string[]): void => {
    if (trail.includes(name)) found.push([...trail.slice(trail.indexOf(name)), name].join(" → "));
    if (trail.includes(name) || done.has(name)) return;
    for (const { ours, to } of byName.get(name)?.imports ?? []) if (ours) walk(to, [...trail, name]);
    done.add(name);
  };
  for (const { name } of FILES) walk(name, []);
  return found;
}

/** The files, or folders, that may name each library. */
const OWNERS: Record<string, string[]> = {
  undici: ["api/shared-connections.ts", "api/messages.ts", "api/undici.d.ts"],
  "ipaddr.js": ["api/address.ts"],
  conf: ["store/settings-store.ts"],
  "csv-parse": ["core/manifest/csv.ts"],
  ora: ["cli/output/status-line.ts"],
  chalk: ["cli/text/colors.ts"],
  commander: ["cli/"],
  "string-width": ["cli/text/terminal-columns.ts"],
  "zod/mini": [
    "store/task-lines.ts",
    "models/matrix-file/matrix-schema.ts",
    "serve/openai/images-request.ts",
  ],
  sharp: ["graphics/decoder.ts"],
  sixel: ["graphics/picture.ts"],
  "supports-terminal-graphics": ["cli/input/query-terminal.ts"],
  "@modelcontextprotocol/server": ["mcp/"],
};

/** The library that a module's name is of: `undici` for `undici/lib/x.js`. */
function libraryOf(to: string): string | undefined {
  return Object.keys(OWNERS).find((library) => to === library || to.startsWith(`${library}/`));
}

describe("the command line", () => {
  const BELOW_CLIENT: readonly string[] = ["core", "models", "store", "providers", "api", "task"];

  it("reaches core through the client alone, whose files repeat no value of core", () => {
    const reaching = (layer: string, isMeant: (found: { exported: boolean }) => boolean) =>
      FILES.filter(({ name }) => layerOf(name) === layer).flatMap((file) =>
        valuesOf(file)
          .filter((found) => BELOW_CLIENT.includes(layerOf(found.to)) && isMeant(found))
          .map(({ to }) => `${file.name} → ${to}`),
      );
    expect(reaching("cli", () => true)).toEqual([]);
    expect(reaching("client", ({ exported }) => exported)).toEqual([]);
  });

  it("makes the parser's options in one file, from the tables in client/options", () => {
    const making = FILES.filter(({ text }) =>
      /\.(?:add|create|required)?option\(|\bParserOption\b/i.test(text),
    );
    expect(making.map(({ name }) => name)).toEqual(["cli/session/add-options.ts"]);
  });

  it("has tables of options without a parser, a schema library or a value of core", () => {
    const tables = FILES.filter(({ name }) => name.startsWith("client/options/"));
    expect(tables.length).toBeGreaterThan(4);
    expect(tables.flatMap(({ imports }) => imports.filter(({ ours }) => !ours))).toEqual([]);
    expect(tables.flatMap(valuesOf).filter(({ to }) => !/^(?:client\/options|task|lib)\//.test(to))).toEqual(
      [],
    );
  });

  it("leaves to the parser how an answer is shown: no command that returns one asks for --json", () => {
    const answering = FILES.filter(
      ({ name, text }) => name.startsWith("cli/commands/") && /Promise<Answer>|showAnswer\(/.test(text),
    );
    expect(answering.length).toBeGreaterThan(5);
    expect(answering.filter(({ text }) => /\.json\b/.test(text)).map(({ name }) => name)).toEqual([]);
  });

  it("draws what it is given: output opens no connection", () => {
    const opening = importsWhere(
      ({ name }, { to }) =>
        name.startsWith("cli/output/") && /^(?:api\/|node:(?:https?|net|tls)$|undici)/.test(to),
    );
    expect(opening).toEqual([]);
  });

  it("leaves batches and the engine out of limits", () => {
    const upward = importsWhere(
      ({ name }, { to }) => name.startsWith("core/limits/") && /^core\/(?:batch|engine)\//.test(to),
    );
    expect(upward).toEqual([]);
  });
});

/** What a file takes of another as a value: `import`, `export … from` and `import()`, types left out. */
function valuesOf({ name, text }: SourceFile): { to: string; exported: boolean }[] {
  const found: { to: string; exported: boolean }[] = [];
  const add = (specifier: TypeScript.Expression | undefined, exported: boolean) => {
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith(".")) return;
    found.push({ to: path.posix.join(path.posix.dirname(name), specifier.text), exported });
  };
  const isValue = (elements: readonly { isTypeOnly: boolean }[]) =>
    elements.some(({ isTypeOnly }) => !isTypeOnly);
  const visit = (node: TypeScript.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const { isTypeOnly = false, name: all, namedBindings: some } = node.importClause ?? {};
      const named = some !== undefined && (!ts.isNamedImports(some) || isValue(some.elements));
      if (!isTypeOnly && (all !== undefined || named)) add(node.moduleSpecifier, false);
    } else if (ts.isExportDeclaration(node)) {
      const { isTypeOnly, exportClause } = node;
      const named =
        exportClause === undefined || !ts.isNamedExports(exportClause) || isValue(exportClause.elements);
      if (!isTypeOnly && named) add(node.moduleSpecifier, true);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true));
  return found;
}

describe("a third-party library", () => {
  const isForeign = ({ ours, to }: Import) => !ours && !to.startsWith("node:");

  it("is one of those with an owner", () => {
    expect(importsWhere((_file, each) => isForeign(each) && libraryOf(each.to) === undefined)).toEqual([]);
  });

  it("is named by its owner alone", () => {
    const strangers = importsWhere((file, each) => {
      const owners = OWNERS[libraryOf(each.to) ?? ""] ?? [];
      return isForeign(each) && !owners.some((owner) => file.name === owner || isBelow(file.name, owner));
    });
    expect(strangers).toEqual([]);
  });

  it.each(Object.keys(OWNERS))("%s is in use at all", (library) => {
    expect(importsWhere((_file, { to }) => libraryOf(to) === library)).not.toEqual([]);
  });
});

function isBelow(name: string, folder: string): boolean {
  return folder.endsWith("/") && name.startsWith(folder);
}

describe("text that goes out", () => {
  it("is written by the console alone, and by what asks on a terminal", () => {
    const writing = FILES.filter(({ text }) => /\b(?:stdout|stderr|output)\s*\.\s*write\(/.test(text));
    expect(writing.map(({ name }) => name)).toEqual(["cli/input/query-terminal.ts"]);
  });

  it("is escaped by the console and the spinner; tables measure it, hints quote it escaped, and file names leave out what is", () => {
    const escaping = FILES.filter(({ imports }) => imports.some(({ to }) => to === "lib/escape.ts"));
    const owners = [
      "cli/output/status-line.ts",
      "cli/text/console.ts",
      "cli/text/table.ts",
      "core/images/file-name.ts",
      "lib/shell-word.ts",
    ];
    expect(escaping.map(({ name }) => name).sort()).toEqual(owners);
  });
});

describe("the process", () => {
  /** Where a file names the global `process`, comments and texts aside. */
  function namesProcess({ name, text }: SourceFile): boolean {
    if (!/\bprocess\b/.test(text)) return false;
    let named = false;
    const visit = (node: TypeScript.Node): void => {
      if (ts.isIdentifier(node) && node.text === "process" && isFreeName(node)) named = true;
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true));
    return named;
  }

  /** Neither a property (`child.process`) nor a key (`{ process: 1 }`). */
  function isFreeName({ parent, text }: TypeScript.Identifier): boolean {
    if (ts.isPropertyAccessExpression(parent))
      return parent.name.text !== text || isProcess(parent.expression);
    return !ts.isPropertyAssignment(parent) && !ts.isPropertySignature(parent);
  }

  function isProcess(node: TypeScript.Node): boolean {
    return ts.isIdentifier(node) && node.text === "process";
  }

  it("is touched in few places alone: the terminal, signals, what any process has of its own, and who is alive; a package's thread has its own", () => {
    const touching = FILES.filter(
      (file) => namesProcess(file) || file.imports.some(({ to }) => /^(node:)?process$/.test(to)),
    );
    expect(touching.map(({ name }) => name).sort()).toEqual([
      "cli/app/main.ts",
      "cli/app/process-context.ts",
      "cli/app/signals.ts",
      "client/this-process.ts",
      "lib/processes.ts",
      "providers/package/package-thread.ts",
    ]);
  });

  it("is ended nowhere but where signals are handled", () => {
    const ending = FILES.filter(({ text }) => /\bprocess\s*\.\s*(exit|abort|reallyExit)\b/.test(text));
    expect(ending.map(({ name }) => name).filter((name) => name !== "cli/app/signals.ts")).toEqual([]);
  });
});

it("no file speaks of a place outside the repository", () => {
  const speaking = FILES.filter(({ text }) => /\.\.\/shared|\/work\//.test(text));
  expect(speaking.map(({ name }) => name)).toEqual([]);
});
