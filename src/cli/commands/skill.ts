import path from "node:path";
import type { Command } from "commander";
import { makeFolder } from "../../lib/durable.ts";
import { errorCode, errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { readRegular } from "../../lib/read-file.ts";
import { createAtomically, replaceAtomically } from "../../lib/write-whole.ts";
import { DEFAULT_MAX_CREDITS } from "../../mcp/session-budget.ts";
import { exitCodeTable } from "../help/reference-tables.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import template from "./skill.md?raw";

/** The name of the skill, and of its folder. */
const NAME = "imggen";

/** The beginning of the file. A file with another one is another skill. */
const HEAD = `---\nname: ${NAME}\n`;

/** The folder in which Claude Code looks for the skills of a project. */
const DEFAULT_FOLDER = ".claude/skills";

const EXAMPLES = `
Examples:
  $ imggen skill
  $ imggen skill install
  $ imggen skill install ~/.claude/skills`;

export function register(command: Command, runWith: RunWith): void {
  command.addHelpText("after", EXAMPLES).action(runWith(printSkill));
  command
    .command("install")
    .argument("[dir]", `folder of skills (default: ${DEFAULT_FOLDER})`)
    .description(`write ${NAME}/SKILL.md into a folder of skills, and print its path`)
    .action(runWith(installSkill));
}

/** Instructions for coding agents, as an agent skill. Its commands are run by a test. */
function skillText(): string {
  const rows = exitCodeTable()
    .filter(({ code }) => code < 128)
    .map(({ code, types, meaning }) => `| ${code} | ${types.join(", ")} | ${meaning} |`);
  return template
    .replace("{exitCodes}", rows.join("\n"))
    .replace("{maxCredits}", String(DEFAULT_MAX_CREDITS));
}

async function printSkill({ console }: Session): Promise<Answer> {
  const text = skillText();
  return { json: { ok: true, text }, show: () => console.result(text.trimEnd().split("\n")) };
}

async function installSkill(session: Session, folder: string = DEFAULT_FOLDER): Promise<Answer> {
  const { console, context } = session;
  const file = path.join(context.resolvePath(folder), NAME, "SKILL.md");
  try {
    const backup = await keepEarlier(file);
    if (backup !== null) await console.note(`Its previous content is kept in ${backup}`);
    await makeFolder(path.dirname(file), 0o777);
    await replaceAtomically(file, skillText(), 0o666);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} cannot be written: ${errorText(error)}.`, {
      hint: "Name another folder: imggen skill install <dir>",
      cause: error,
    });
  }
  return { json: { ok: true, path: file }, show: () => console.resultLine({ path: file }) };
}

/**
 * Keeps a copy of this skill with another text: it may be an earlier release's or the user's.
 * @returns the copy; null if there is nothing to keep. @throws UsageError for another skill, or the disk's error
 */
async function keepEarlier(file: string): Promise<string | null> {
  const earlier = readIfPresent(file);
  if (earlier === null) return null;
  const text = earlier.toString("utf8");
  if (text === skillText()) return null;
  if (!text.startsWith(HEAD))
    throw new UsageError(`${file} is another skill, so it is not replaced.`, {
      hint: "Name another folder: imggen skill install <dir>",
    });
  for (let number = 1; ; number++) {
    const copy = number === 1 ? `${file}.bak` : `${file}.bak${number}`;
    if (await createAtomically(copy, earlier, 0o666)) return copy;
  }
}

function readIfPresent(file: string): Buffer | null {
  try {
    return readRegular(file);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}
