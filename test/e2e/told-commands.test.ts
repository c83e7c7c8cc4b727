import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/app/commands.ts";
import type { CommandNode, Description } from "../../src/cli/help/command-tree.ts";
import { MANUAL, TOPIC_NAMES } from "../../src/cli/help/topic-names.ts";
import { runCommand } from "../support/in-process.ts";
import { ROOT, runProgram } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const COMMENT = /^\s*(?:\/?\*|\/\/).*$/gm;
const CODE_OVER_TWO_LINES = /`[^`\n]*\n[^`\n]*`/g;

const TOPICS = path.join(ROOT, ".github/docs/help");

/** README, the topics, and the source of help texts, hints and the skill. */
const TEXTS = [
  ...[path.join(ROOT, "README.md"), ...readdirSync(TOPICS).map((name) => path.join(TOPICS, name))].map(
    (file) => readFileSync(file, "utf8").replaceAll(CODE_OVER_TWO_LINES, (code) => code.replace("\n", " ")),
  ),
  ...readdirSync(path.join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(path.join(ROOT, "src", file), "utf8").replaceAll(COMMENT, "")),
];

/** What follows "imggen", up to the end of the code, the string or the clause that it stands in. */
const MENTION = /\bimggen (?=[a-z-])(.*?)(?=\bimggen |["'`]\s*[,:;\])}]|["`]\s*$|[`;|)]|\\n|$)/gm;
/** After these comes a command, and not a sentence about imggen. */
const CERTAIN = /(?:\bTo [^:\n]*: |\$ |(?<!phrase)`|\b[Ss]ee |Run:? |mean )$/;
const NO_WORDS = /\$\{[^}]*\}?|\\/g;
const QUOTED = /"[^"]*"|'[^']*'/g;

/** Each command that a user is told to type, as its words; one that imggen does not have only where it is certain. */
const TOLD = TEXTS.flatMap((text) =>
  [...text.matchAll(MENTION)].flatMap(({ index, 1: line = "" }) => {
    const words =
      line
        .replaceAll(NO_WORDS, "")
        .replaceAll(QUOTED, "text")
        .match(/[^\s,.]+/g) ?? [];
    const [first = ""] = words;
    const isOne = first.startsWith("--") || first === "help" || Object.hasOwn(COMMANDS, first);
    return isOne || CERTAIN.test(text.slice(Math.max(0, index - 80), index)) ? [words] : [];
  }),
);

/** What of a command line the program does not have: its command, or flags. */
function unknownIn(words: readonly string[], { command, globalOptions }: Description): string[] {
  const path: CommandNode[] = [command];
  for (const word of words) {
    const next = path.at(-1)?.commands.find(({ name }) => name === word);
    if (!next) break;
    path.push(next);
  }
  const { options, refuses, name } = path.at(-1) ?? command;
  const globals = globalOptions.filter(({ long }) => !refuses.includes(long));
  const known = [...options, ...globals].flatMap(({ long, short }) => [long, short]);
  const flags = words.filter((word) => /^--?[a-z]/i.test(word)).map((word) => word.replace(/=.*/s, ""));
  const isMissing = path.length === 1 && !words[0]?.startsWith("-");
  return isMissing
    ? [words.join(" ")]
    : flags.filter((flag) => !known.includes(flag)).map((flag) => `${name} ${flag}`);
}

describe("what a user is told to type", () => {
  it("is a command that the built program has, with flags that the command takes", async () => {
    const program: Description = JSON.parse((await runProgram(["--help", "--json"])).stdout);
    expect(TOLD.length).toBeGreaterThan(200);
    expect(TOLD.flatMap((words) => unknownIn(words, program))).toEqual([]);
  });

  const asked = TOLD.flatMap(([first, name = ""]) => (first === "help" && /^[a-z]/.test(name) ? [name] : []));
  it.each([...new Set(["", ...Object.keys(COMMANDS), ...TOPIC_NAMES, MANUAL, ...asked])])(
    "imggen help %s shows what it is asked for",
    async (name) => {
      const { code, stdout, stderr } = await runCommand(["help", ...[name].filter(Boolean)], {
        home: await temporaryFolder(),
      });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.length).toBeGreaterThan(100);
    },
  );
});
