import { promises } from "node:fs";
import path from "node:path";
import type { Command } from "commander";
import { errorCode } from "../../lib/error-code.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { readText } from "../../lib/read-file.ts";
import { replaceWhole } from "../../lib/write-whole.ts";
import { SKILL_HEAD, SKILL_NAME, skillText } from "../help/skill.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

/** Where Claude Code looks for the skills of a project. */
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
    .description(`write ${SKILL_NAME}/SKILL.md into a folder of skills, and print its path`)
    .action(runWith(installSkill));
}

async function printSkill({ console, options }: Session): Promise<number> {
  const text = skillText();
  if (options.json) await console.json({ ok: true, text });
  else await console.result(text.trimEnd().split("\n"));
  return 0;
}

async function installSkill(session: Session, folder: string = DEFAULT_FOLDER): Promise<number> {
  const { console, context, options } = session;
  const file = path.join(context.resolvePath(folder), SKILL_NAME, "SKILL.md");
  try {
    await requireOurs(file);
    await promises.mkdir(path.dirname(file), { recursive: true });
    await replaceWhole(file, skillText(), 0o666);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} cannot be written: ${errorText(error)}.`, {
      hint: "Name another folder: imggen skill install <dir>",
      cause: error,
    });
  }
  if (options.json) await console.json({ ok: true, path: file });
  else await console.resultLine({ path: file });
  return 0;
}

/** An earlier release's file is replaced, and no other. @throws UsageError, or the disk's error */
async function requireOurs(file: string): Promise<void> {
  const text = await readText(file).catch((error) => {
    if (errorCode(error) === "ENOENT") return SKILL_HEAD;
    throw error;
  });
  if (text.startsWith(SKILL_HEAD)) return;
  throw new UsageError(`${file} is another skill, so it is not replaced.`, {
    hint: "Name another folder: imggen skill install <dir>",
  });
}
