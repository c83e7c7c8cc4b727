import { promises } from "node:fs";
import path from "node:path";
import { checkSetting } from "../../../client/setting-parsers.ts";
import { errorText } from "../../../lib/error-text.ts";
import { ImggenError, UsageError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { readSettings, type Settings } from "../../../store/settings-file.ts";
import { SETTING_NAMES } from "../../../store/settings-table.ts";
import type { Session } from "../../session/session.ts";
import { type Finding, needed, news, ok, warning } from "./check.ts";
import { allows, folderFacts, modeOf } from "./folders.ts";

export async function checkProfile(session: Session): Promise<Finding> {
  const { profile } = session;
  if (profile === null) return ok("none", { name: null, source: "default" });
  await needed(() => session.folders);
  session.requireProfile();
  return news(`${profile.name} (${profile.label})`, { name: profile.name, source: profile.source });
}

/** The settings file: valid, private, and in a folder that can be written to. */
export async function checkConfig(session: Session): Promise<Finding> {
  // Named before the profile, which another check reports.
  void session.folders;
  await needed(() => session.requireProfile());
  const { file } = await session.settingsStore();
  await checkValues(readSettings(file), file, session);
  // Reading has narrowed the modes where it could.
  const stats = await promises.stat(file).catch(() => null);
  const { problem } = await folderFacts(path.dirname(file));
  const mode = stats && modeOf(stats);
  const facts = { file, exists: stats !== null, mode };
  const open = `Other users may use ${file}, and the key in it (mode ${mode}).`;
  if (allows(0o077, mode)) return warning(open, `Run: chmod 600 ${shellWord(file)}`, facts);
  const fixed = `${file} cannot be changed: ${errorText(problem)}.`;
  const hint = "imggen login and imggen config set need to write there.";
  if (problem !== null) return warning(fixed, hint, facts);
  return ok(`${file}${stats === null ? ", not there yet" : mode && `, mode ${mode}`}`, facts);
}

/** @throws UsageError if a command would refuse a value */
async function checkValues(settings: Settings, file: string, session: Session): Promise<void> {
  const matrix = await session.matrix().catch(() => null);
  // The models have a check of their own, and without them nothing can be said of what names one.
  const unchecked = matrix === null ? ["matrix", "model", "ratio"] : ["matrix"];
  for (const name of SETTING_NAMES) {
    const value = settings[name];
    if (value === undefined || unchecked.includes(name)) continue;
    try {
      await checkSetting(name, value, session);
    } catch (error) {
      if (!(error instanceof ImggenError)) throw error;
      const removing = `Remove it: ${session.inProfile(`imggen config unset ${name}`)}`;
      const hint = name === "apiKey" ? storeKey(session) : removing;
      throw new UsageError(`${file}: ${error.message}`, { hint, cause: error });
    }
  }
}

/** The next step where a stored key does not work. */
export function storeKey(session: Session): string {
  return `Store a key that works: ${session.inProfile("imggen login")}`;
}

/** The models that apply; the file that changes them, if there is one, is valid. */
export async function checkModels(session: Session): Promise<Finding> {
  const setting = await needed(() => session.settings.get("matrix"));
  const generator = await needed(() => session.ownGenerator());
  const { length: count } = await session.matrix();
  const facts = { file: setting?.value ?? null, count };
  if (generator !== null && !setting) return ok("the generator's own, without prices", facts);
  const label = setting ? `with those in ${setting.value} (${setting.label})` : "built in";
  return ok(`${count} models, ${label}`, facts);
}
