import type TypeScript from "typescript";
import { ts } from "../support/typescript.ts";

/** A change to one function of the source, whichever file it is in. */
export interface Edit {
  /** The function's name. Where another one has such a place too, `Class.method`, or `outer.inner`. */
  inside: string;
  /** What is done to it, for messages. */
  operator: string;
  /** Where it can be done, as the replacements of each place: exactly one place is meant. */
  placesIn(body: TypeScript.ConciseBody): Replacement[][];
}

interface Replacement {
  from: number;
  to: number;
  code: string;
}

/**
 * Puts code in place of what is called or read; `$` in the code stands for what was there.
 * @param what a call by the name of its callee, or a value by its own. `writer.write` also finds
 * `this.#task.writer?.write(…)`.
 */
export function instead(inside: string, what: string, code: string): Edit {
  const placesIn = (body: TypeScript.ConciseBody) =>
    usesIn(body, what).map((use) => [replacement(use, `(${code.replaceAll("$", () => use.getText())})`)]);
  return { inside, operator: `${code} instead of ${what}`, placesIn };
}

/** A call is left out. */
export function without(inside: string, callee: string): Edit {
  const placesIn = (body: TypeScript.ConciseBody) => {
    const calls = usesIn(body, callee).filter(ts.isCallExpression);
    return calls.map((call) => [replacement(call, "undefined")]);
  };
  return { inside, operator: `without ${callee}`, placesIn };
}

/** A condition never holds. */
export const never = (inside: string, what: string) => instead(inside, what, "false");

/** A condition always holds. */
export const always = (inside: string, what: string) => instead(inside, what, "true");

/** The function begins with this code. */
export function before(inside: string, code: string): Edit {
  const placesIn = (body: TypeScript.ConciseBody) => {
    const rest = ts.isBlock(body) ? body.getText() : `{ return (${body.getText()}); }`;
    return [[replacement(body, `{ ${code} ${rest} }`)]];
  };
  return { inside, operator: `begins with ${code}`, placesIn };
}

/** The function does nothing but return this value. */
export const returns = (inside: string, value: string) => before(inside, `return ${value};`);

/** Two statements of a block change places, each known by a call in it. */
export function swapped(inside: string, callee: string, other: string): Edit {
  const placesIn = (body: TypeScript.ConciseBody) =>
    usesIn(body, callee).flatMap((one) => {
      const first = statementOf(one);
      const seconds = usesIn(body, other).map(statementOf);
      const siblings = seconds.filter((second) => second.parent === first.parent);
      return siblings.map((second) => [
        replacement(first, second.getText()),
        replacement(second, first.getText()),
      ]);
    });
  return { inside, operator: `${callee} and ${other} swapped`, placesIn };
}

/** A file's code with an edit made, unless it has several places; and how many it has. */
export function edited(code: string, edit: Edit): { code: string; places: number } {
  const places = mayHold(code, edit) ? placesIn(functionsOf(code), edit) : [];
  const [place = []] = places.length === 1 ? places : [];
  const lastFirst = place.toSorted((one, other) => other.from - one.from);
  const changed = lastFirst.reduce(
    (text, { from, to, code }) => text.slice(0, from) + code + text.slice(to),
    code,
  );
  return { code: changed, places: places.length };
}

/** Whether a file names the function of an edit at all: to search its text costs less than to parse it. */
export function mayHold(code: string, { inside }: Edit): boolean {
  return inside.split(".").every((part) => code.includes(part));
}

/** Where an edit can be made in these functions. */
export function placesIn(functions: readonly NamedFunction[], edit: Edit): Replacement[][] {
  return functions
    .filter(({ name }) => isNamed(name, edit.inside))
    .flatMap(({ body }) => edit.placesIn(body));
}

export interface NamedFunction {
  name: string;
  body: TypeScript.ConciseBody;
}

/** All functions and methods of a file that have a name. */
export function functionsOf(code: string): NamedFunction[] {
  return functionsBelow(ts.createSourceFile("", code, ts.ScriptTarget.Latest, true), "");
}

/** @param around name of the class or function that the node is in, with a dot */
function functionsBelow(node: TypeScript.Node, around: string): NamedFunction[] {
  const isFunction = ts.isFunctionLike(node);
  const own = isFunction || ts.isClassDeclaration(node) ? ts.getNameOfDeclaration(node) : undefined;
  const name = own && `${around}${own.getText()}`;
  const found = name && isFunction && "body" in node && node.body ? [{ name, body: node.body }] : [];
  ts.forEachChild(node, (child) => {
    found.push(...functionsBelow(child, name ? `${name}.` : around));
  });
  return found;
}

/** The calls and the reads of what has this name. */
function usesIn(node: TypeScript.Node, what: string): TypeScript.Node[] {
  const uses: TypeScript.Node[] = [];
  if (ts.isCallExpression(node) && isNamed(chainOf(node.expression), what)) uses.push(node);
  else if (isRead(node) && isNamed(chainOf(node), what)) uses.push(node);
  ts.forEachChild(node, (child) => {
    uses.push(...usesIn(child, what));
  });
  return uses;
}

function isRead(node: TypeScript.Node): boolean {
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return false;
  const { parent } = node;
  const { EqualsToken } = ts.SyntaxKind;
  const isCalled = ts.isCallExpression(parent) && parent.expression === node;
  const isName = "name" in parent && parent.name === node;
  const isWritten =
    ts.isBinaryExpression(parent) && parent.left === node && parent.operatorToken.kind === EqualsToken;
  return !isCalled && !isName && !isWritten;
}

/** `this.#file?.sync` as `this.#file.sync`. */
function chainOf(node: TypeScript.Node): string {
  if (ts.isPropertyAccessExpression(node)) return `${chainOf(node.expression)}.${node.name.text}`;
  return node.getText();
}

function isNamed(full: string, name: string): boolean {
  return full === name || full.endsWith(`.${name}`);
}

function statementOf(node: TypeScript.Node): TypeScript.Node {
  return ts.isStatement(node) ? node : statementOf(node.parent);
}

function replacement(node: TypeScript.Node, code: string): Replacement {
  return { from: node.getStart(), to: node.getEnd(), code };
}
