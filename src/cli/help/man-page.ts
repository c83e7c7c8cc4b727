import type { ArgumentNode, CommandNode, Description, OptionNode } from "./command-tree.ts";
import { TOPIC_NAMES } from "./topic-names.ts";

/** The manual page of the whole program, in roff. */
export function manPage({ command, globalOptions, exitCodes, environment, version }: Description): string[] {
  const commands = command.commands.filter(({ name }) => name !== "help" && name !== "version");
  const [about = "", ...more] = command.description.split("\n");
  return [
    `.TH IMGGEN 1 "" "imggen ${version}" "User Commands"`,
    ...section("NAME", [`imggen \\- ${roff(about.replace(/\.$/, "").toLowerCase())}`]),
    ...section("SYNOPSIS", [".B imggen", ".I command", "[options] [arguments]"]),
    ...section("DESCRIPTION", [
      ...more.map(roff),
      roff(
        `imggen help <command> explains a command, imggen help <topic> a topic: ${TOPIC_NAMES.join(", ")}.`,
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

/** Folders of `userFolders`, and what each holds. */
const FILES = [
  [
    "$IMGGEN_HOME/config, $IMGGEN_HOME/state",
    "Both folders, on every platform, if IMGGEN_HOME is set. Else:",
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
    "Compiled code, a cache: it can be removed. NODE_COMPILE_CACHE is used instead if set.",
  ],
] as const;

function section(title: string, lines: readonly string[]): string[] {
  return [`.SH "${title}"`, ...lines];
}

function commandPart(command: CommandNode): string[] {
  return [
    `.SS "${roff(command.usage)}"`,
    ...command.description.split("\n").flatMap((line) => [".PP", roff(line)]),
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

function optionPart({ flags, description, default: byDefault }: OptionNode): string[] {
  const ending = typeof byDefault === "string" ? ` (default: ${byDefault})` : "";
  return item(flags, description + ending);
}

function item(term: string, text: string): string[] {
  return [".TP", `.B ${roff(term)}`, roff(text)];
}

function examplePart(example: string): string[] {
  return [".PP", ".nf", roff(`    ${example}`), ".fi"];
}

/** Text that roff shows as it is: a backslash and a dash mean something to it, and so do a dot or a quote at a line's start. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replace(/^[.']/, "\\&$&");
}
