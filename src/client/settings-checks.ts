import { promises } from "node:fs";
import path from "node:path";
import { errorText } from "../lib/error-text.ts";
import { ImggenError, UsageError } from "../lib/error-types.ts";
import { shellWord } from "../lib/shell-word.ts";
import { checkRequest } from "../models/check-request.ts";
import { isLeftOutWarning } from "../models/rules/rule.ts";
import { readSettings, type Settings } from "../store/settings-file.ts";
import { SETTING_NAMES } from "../store/settings-table.ts";
import { describeSetting } from "./effective-settings.ts";
import { type Finding, news, ok, orNotChecked, warning } from "./finding.ts";
import { readSavedFields } from "./given-values.ts";
import { folderFacts, hasPermissions, modeText } from "./machine-checks.ts";
import { addProfileFlag } from "./profiles.ts";
import { checkSetting } from "./setting-parsers.ts";
import type { TargetSession } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

export interface CheckedSession extends TargetSession {
  requireProfile(): void;
  settingsStore(): Promise<{ file: string }>;
}

export async function checkProfile(session: CheckedSession): Promise<Finding> {
  const { profile = null } = session;
  if (profile === null) return ok("none", { name: null, source: "default" });
  await orNotChecked(() => session.folders);
  session.requireProfile();
  return news(`${profile.name} (${profile.label})`, { name: profile.name, source: profile.source });
}

export async function checkConfig(session: CheckedSession): Promise<Finding> {
  // Folders are read before the profile, because this check reports errors of folders, but not of profiles.
  void session.folders;
  await orNotChecked(() => session.requireProfile());
  const { file } = await session.settingsStore();
  await checkValues(readSettings(file), file, session);
  // The mode is read after the settings, because `readSettings` restricts the mode of the file if possible.
  const stats = await promises.stat(file).catch(() => null);
  const { problem } = await folderFacts(path.dirname(file));
  const mode = stats && modeText(stats);
  const facts = { file, exists: stats !== null, mode };
  const exposureMessage = await getExposureWarning(file);
  if (exposureMessage !== null) return warning(exposureMessage, `Run: chmod 600 ${shellWord(file)}`, facts);
  const message = `${file} cannot be changed: ${errorText(problem)}.`;
  const hint = "imggen login and imggen config set need to write there.";
  if (problem !== null) return warning(message, hint, facts);
  const omittedWarnings = await findOmittedSettings(session);
  if (omittedWarnings.length > 0) return warning(omittedWarnings.join(" "), REMOVE_HINT, facts);
  return ok(`${file}${stats === null ? ", does not exist yet" : mode && `, mode ${mode}`}`, facts);
}

/** Returns a warning if other users can read the settings, for example on a disk without modes. */
export async function getExposureWarning(file: string): Promise<string | null> {
  const stats = await promises.stat(file).catch(() => null);
  const mode = stats && modeText(stats);
  return hasPermissions(0o077, mode)
    ? `Other users may read ${file}, and the key in it (mode ${mode}).`
    : null;
}

const REMOVE_HINT = "To remove a setting: imggen config unset <name>";

/** Returns warnings about unsupported saved settings. @throws ImggenError if one makes requests invalid */
async function findOmittedSettings(session: CheckedSession): Promise<string[]> {
  const { settings } = session;
  try {
    const target = await targetInEffect(session);
    const generator = await target.terms({ dryRun: true });
    const model = generator === null ? settings.get("model")?.value : undefined;
    const options = { savedFields: readSavedFields(settings), generator };
    return checkRequest({ prompt: "a fox", model }, await target.matrix(), options).warnings.filter(
      isLeftOutWarning,
    );
  } catch (error) {
    // Errors without a setting of config.json are ignored, because other checks report them.
    if (!(error instanceof ImggenError) || error.message.includes("from config.json")) throw error;
    return [];
  }
}

/** @throws UsageError for a value that a command would refuse */
async function checkValues(settings: Settings, file: string, session: CheckedSession): Promise<void> {
  const readTargetMatrix = async () => (await targetInEffect(session)).matrix();
  const matrix = await readTargetMatrix().catch(() => null);
  // Without a matrix, `model` and `ratio` cannot be checked. Another check reports an invalid matrix.
  const skippedNames = matrix === null ? ["matrix", "model", "ratio"] : ["matrix"];
  const deps = { settings: session.settings, context: session.context, matrix: async () => matrix ?? [] };
  for (const name of SETTING_NAMES) {
    const value = settings[name];
    if (value === undefined || skippedNames.includes(name)) continue;
    try {
      const label =
        name === "workflow" ? describeSetting(name, { value, source: "config", label: name }) : name;
      await checkSetting(name, value, deps, label);
    } catch (error) {
      if (!(error instanceof ImggenError)) throw error;
      const removeHint = `Remove it: ${addProfileFlag(`imggen config unset ${name}`, session)}`;
      const storeHint = `Store a key that works: ${addProfileFlag("imggen login", session)}`;
      const hint = name === "apiKey" ? storeHint : removeHint;
      throw new UsageError(`${file}: ${error.message}`, { hint, cause: error });
    }
  }
}

export async function checkModels(session: CheckedSession): Promise<Finding> {
  const setting = await orNotChecked(() => session.settings.get("matrix"));
  const target = await orNotChecked(() => targetInEffect(session));
  // Skips this check if generator settings are invalid, because another check reports them.
  await orNotChecked(() => target.url());
  const { length: count } = await target.matrix();
  const facts = { file: setting?.value ?? null, count };
  const { kind } = target;
  if ((kind === "generator" || kind === "serve") && !setting)
    return ok(`the ${kind === "serve" ? "server" : "generator"}'s models, without prices`, facts);
  const label = setting ? `with those in ${setting.value} (${setting.label})` : "built in";
  return ok(`${count} models, ${label}`, facts);
}
