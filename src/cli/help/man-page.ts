import type { ArgumentNode, CommandNode, Description, OptionNode } from "./command-tree.ts";
import { TOPIC_NAMES } from "./topic-names.ts";

export function manPage({ command, globalOptions, exitCodes, environment, version }: Description): string[] {
  const commands = command.commands.filter(({ name }) => name !== "help" && name !== "version");
  const [about = "", ...more] = command.description.split("\n");
  return [
    `.TH IMGGEN 1 "" "imggen ${version}" "User Commands"`,
    ...section("NAME", [`imggen \\- ${escapeRoff(about.replace(/\.$/, "").toLowerCase())}`]),
    ...section("SYNOPSIS", [".B imggen", ".I command", "[options] [arguments]"]),
    ...section("DESCRIPTION", [
      ...more.map(escapeRoff),
      escapeRoff(
        `To show help for a command: imggen help <command>. For a topic: imggen help <topic>. Topics: ${TOPIC_NAMES.join(", ")}.`,
      ),
    ]),
    ...section("COMMANDS", commands.flatMap(commandPart)),
    ...section("GLOBAL OPTIONS", globalOptions.flatMap(optionPart)),
    ...section(
      "EXIT STATUS",
      exitCodes.flatMap(({ code, meaning }) => item(String(code), meaning)),
    ),
    ...section(
      "ENVIRONMENT",
      environment.flatMap(({ name, description }) => item(name, description)),
    ),
    ...section(
      "FILES",
      FILES.flatMap(([name, ...lines]) => item(name, lines.join(" "))),
    ),
    ...section("EXAMPLES", command.examples.flatMap(examplePart)),
  ];
}

const FILES = [
  [
    "$IMGGEN_HOME/config, $IMGGEN_HOME/state",
    "Settings and state, on every platform, if IMGGEN_HOME is set. Otherwise:",
  ],
  [
    "~/.config/imggen",
    "Settings (config.json, with the API key) and packages (providers). $XDG_CONFIG_HOME/imggen if that is set;",
    "on macOS ~/Library/Preferences/imggen; on Windows %APPDATA%\\imggen.",
  ],
  [
    "~/.local/state/imggen",
    "The ledger (tasks), private copies (references, workflows), and the sandbox. $XDG_STATE_HOME/imggen if that is set;",
    "on macOS ~/Library/Application Support/imggen; on Windows %LOCALAPPDATA%\\imggen.",
  ],
  [
    "~/.local/state/imggen/compile-cache",
    "Cache of compiled code, which can be removed. NODE_COMPILE_CACHE overrides it.",
  ],
] as const;

function section(title: string, lines: readonly string[]): string[] {
  return [`.SH "${title}"`, ...lines];
}

function commandPart(command: CommandNode): string[] {
  return [
    `.SS "${escapeRoff(command.usage)}"`,
    ...command.description.split("\n").flatMap((line) => [".PP", escapeRoff(line)]),
    ...command.arguments.flatMap(argumentPart),
    ...command.options.flatMap(optionPart),
    ...command.commands.flatMap(({ usage, description }) => item(usage, description)),
    ...(command.examples.length > 0 ? [".PP", "Examples:"] : []),
    ...command.examples.flatMap(examplePart),
  ];
}

function argumentPart({ name, description }: ArgumentNode): string[] {
  return description === "" ? [] : item(`<${name}>`, description);
}

function optionPart({ flags, description, default: defaultValue }: OptionNode): string[] {
  const ending = typeof defaultValue === "string" ? ` (default: ${defaultValue})` : "";
  return item(flags, description + ending);
}

function item(term: string, text: string): string[] {
  return [".TP", `.B ${escapeRoff(term)}`, escapeRoff(text)];
}

function examplePart(example: string): string[] {
  return [".PP", ".nf", escapeRoff(`    ${example}`), ".fi"];
}

/** Escapes text for roff, in which backslashes, dashes and a dot or quote at the start of a line are special. */
function escapeRoff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replace(/^[.']/, "\\&$&");
}
