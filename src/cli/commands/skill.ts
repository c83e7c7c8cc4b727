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

const NAME = "imggen";

/** Beginning of the skill file, which distinguishes the file from other skills. */
const HEAD = `---\nname: ${NAME}\n`;

/** Folder in which Claude Code searches for the skills of a project. */
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
    const backup = await backUpSkill(file);
    if (backup !== null) await console.note(`Saved the previous SKILL.md as ${backup}`);
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
 * Backs up an existing skill file if its text differs from the new text, because the user might have edited the file.
 * @returns path of the copy, or null if no copy is needed @throws UsageError for another skill, and errors of the disk
 */
async function backUpSkill(file: string): Promise<string | null> {
  const existing = readIfPresent(file);
  if (existing === null) return null;
  const text = existing.toString("utf8");
  if (text === skillText()) return null;
  if (!text.startsWith(HEAD))
    throw new UsageError(`${file} contains another skill, so it was not replaced.`, {
      hint: "Name another folder: imggen skill install <dir>",
    });
  for (let number = 1; ; number++) {
    const copy = number === 1 ? `${file}.bak` : `${file}.bak${number}`;
    if (await createAtomically(copy, existing, 0o666)) return copy;
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
