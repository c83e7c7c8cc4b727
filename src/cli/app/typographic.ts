import type { Command } from "commander";
import { editDistance } from "../../lib/edit-distance.ts";
import { UsageError } from "../../lib/error-types.ts";
import { InvalidRequestError } from "../../models/invalid-request.ts";
import { isCommand } from "./commands.ts";
import { buildProgram } from "./program.ts";
import { commandLine, operandsAt, optionsOf, takesPrompt, withOnePrompt } from "./proposed-line.ts";

// Word processors, chats and web pages replace what is typed by these. A shell takes them for letters.
const DASHES = "‐‑‒–—―−";
const OPENING = "“”„‟‘’‚‛«»";
const BLANKS = "\u00a0\u2007\u202f";

const DASH = new RegExp(`[${DASHES}]`);
/** Dashes, a name, and a value behind `=` or a blank that the shell does not split at. */
const OPTION = new RegExp(`^([-${DASHES}]{1,2})([a-z][\\w-]*)(?:(=)|([${BLANKS}])|$)(.*)$`, "is");
const OPENED = new RegExp(`^(--[\\w-]+=)?[${OPENING}]+`);
const CLOSED = new RegExp(`[${OPENING}]+$`);

/** A command line that was meant by one with typographic characters in it. */
interface PlainLine {
  words: string[];
  /** What was replaced: `“`, `”`, `no-break space`. */
  replaced: Set<string>;
  /** Options as they were typed whose dashes are wrong: the parser would take them for another word. */
  options: { typed: string; meant: string }[];
}

/**
 * Runs a command line, unless an option in it has the wrong dashes. If the line is refused, what was meant is its advice.
 * @throws UsageError, and what `run` throws
 */
export async function unlessMistyped(argv: readonly string[], run: () => Promise<number>): Promise<number> {
  const command = await commandMeant(argv);
  refuseWrongDashes(argv, command);
  try {
    return await run();
  } catch (error) {
    throw withPlainLine(error, argv, command);
  }
}

/** The command that a line names, also behind a typographic character; the one for a prompt if it names none. */
async function commandMeant(argv: readonly string[]): Promise<Command> {
  const words = argv.flatMap((word) => word.split(new RegExp(`[${BLANKS}]`)));
  const named = words.find((word) => isCommand(word)) ?? "generate";
  const silent = { columns: 80, onText: () => {}, runWith: () => async () => {} };
  const program = await buildProgram([named], silent, false);
  const command = program.commands.find((each) => each.name() === named) ?? program;
  return command.commands.find((each) => words.includes(each.name())) ?? command;
}

/**
 * Refuses a line with options that the parser would not recognise: they would become a part of the prompt, or other
 * options (`-model` is `-m odel`).
 * @throws UsageError
 */
function refuseWrongDashes(argv: readonly string[], command: Command): void {
  const plain = plainLine(argv, command);
  const [first] = plain.options;
  if (first === undefined) return;
  const run = `Run: ${commandLine(proposed(plain.words, command))}`;
  if (plain.replaced.size > 0) throw new UsageError(complaint(plain.replaced), { hint: run });
  throw new UsageError(`Unknown option '${first.typed}'.`, { hint: `Did you mean ${first.meant}?\n${run}` });
}

/** An error in a command line, with what was meant as its advice if there are typographic characters in the line. */
function withPlainLine(error: unknown, argv: readonly string[], command: Command): unknown {
  if (!(error instanceof UsageError || error instanceof InvalidRequestError)) return error;
  const { words, replaced } = plainLine(argv, command);
  if (replaced.size === 0) return error;
  const hint = `Run: ${commandLine(proposed(words, command))}`;
  return new UsageError(complaint(replaced), { hint, cause: error });
}

function complaint(replaced: ReadonlySet<string>): string {
  return `The command line has ${[...replaced].join(" ")} in place of plain quotes, dashes or blanks.`;
}

/** Joins the words of a prompt where the command takes one. Arguments with blanks in them are several prompts. */
function proposed(words: readonly string[], command: Command): readonly string[] {
  const operands = operandsAt(words, command).map((at) => words[at] ?? "");
  const isOnePrompt = operands.filter((word) => /\s/.test(word)).length < 2;
  const hasPrompt = operands.length > (operands[0] === command.name() ? 1 : 0);
  return takesPrompt(command) && isOnePrompt && hasPrompt ? withOnePrompt(words, command) : words;
}

function plainLine(argv: readonly string[], command: Command): PlainLine {
  const line: PlainLine = { words: [], replaced: new Set(), options: [] };
  const end = argv.indexOf("--");
  const read = end === -1 ? argv : argv.slice(0, end);
  const words = read.flatMap((word, at) => withPlainDashes(word, at === 0, line, command));
  line.words = [...withPlainQuotes(words, line), ...(end === -1 ? [] : argv.slice(end))];
  return line;
}

function withPlainDashes(word: string, isFirst: boolean, line: PlainLine, command: Command): string[] {
  const blank = new RegExp(`^([a-z]+)[${BLANKS}](.+)$`, "s").exec(word);
  if (isFirst && blank !== null && isCommand(blank[1] ?? "")) {
    line.replaced.add("no-break space");
    return [blank[1] ?? "", blank[2] ?? ""];
  }
  const [, dashes = "", name = "", equals = "", space = "", value = ""] = OPTION.exec(word) ?? [];
  const meant = optionMeant(dashes, name, command);
  if (meant === undefined || (meant === dashes + name && space === "")) return [word];
  for (const dash of dashes) if (DASH.test(dash)) line.replaced.add(dash);
  if (space !== "") line.replaced.add("no-break space");
  line.options.push({ typed: dashes + name, meant });
  return space === "" ? [meant + equals + value] : [meant, value];
}

/** The option that a word with these dashes stands for; undefined if it is none. */
function optionMeant(dashes: string, name: string, command: Command): string | undefined {
  const options = optionsOf(command);
  const isKnown = (flag: string) =>
    flag === "--help" || options.some(({ long, short }) => flag === long || flag === short);
  if (name.length === 1) return isKnown(`-${name}`) ? `-${name}` : undefined;
  if (isKnown(`--${name}`)) return `--${name}`;
  // With plain dashes the parser finds what is near.
  if (!DASH.test(dashes) || name.length < 4) return undefined;
  const isNear = (long: string) => editDistance(long, `--${name}`) <= (name.length < 5 ? 1 : 2);
  return options.flatMap(({ long }) => long ?? []).find(isNear);
}

/** Takes typographic quotes off, and joins the words between them. */
function withPlainQuotes(words: readonly string[], { replaced }: PlainLine): string[] {
  const joined: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const end = OPENED.test(word) ? words.findIndex((each, index) => index >= at && CLOSED.test(each)) : -1;
    const run = words.slice(at, end + 1);
    if (end === -1 || run.slice(1).some((each) => each.startsWith("-"))) {
      joined.push(word);
      continue;
    }
    const text = run.join(" ");
    const plain = text.replace(OPENED, "$1").replace(CLOSED, "");
    for (const quote of text.replace(plain, " ").match(new RegExp(`[${OPENING}]`, "g")) ?? [])
      replaced.add(quote);
    joined.push(plain);
    at = end;
  }
  return joined;
}
