import { promises } from "node:fs";
import path from "node:path";
import type { Effective } from "../../../client/effective-settings.ts";
import type { OwnGenerator } from "../../../client/generator-settings.ts";
import { withoutMatrixFile } from "../../../client/matrix-in-effect.ts";
import { checkSetting } from "../../../client/setting-checks.ts";
import { errorText } from "../../../lib/error-text.ts";
import { ImggenError, UsageError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { readSettings, type Settings } from "../../../store/settings-file.ts";
import { SETTING_NAMES } from "../../../store/settings-table.ts";
import type { Session } from "../../session/session.ts";
import { type CheckResult, failed, needed, news, ok, warning } from "./check.ts";
import { folderFacts, knownFolders, modeOf, modeText } from "./folders.ts";

const OTHER_USERS = 0o077;

export async function checkProfile(session: Session): Promise<CheckResult> {
  const { profile } = session;
  if (profile === null) return ok("none", { name: null, source: "default" });
  await knownFolders(session);
  session.requireProfile();
  return news(`${profile.name} (${profile.label})`, { name: profile.name, source: profile.source });
}

/** The settings file: valid, private, and in a folder that can be written to. */
export async function checkConfig(session: Session): Promise<CheckResult> {
  // Named before the profile, which another check reports.
  void session.folders;
  await needed("the profile cannot be used", () => session.requireProfile());
  const { file } = await session.settingsStore();
  await checkValues(readSettings(file), file, session);
  // Reading has narrowed the modes where it could.
  const stats = await promises.stat(file).catch(() => null);
  const { problem } = await folderFacts(path.dirname(file));
  const bits = stats && modeOf(stats);
  const mode = bits === null ? null : modeText(bits);
  const facts = { file, exists: stats !== null, mode };
  if (((bits ?? 0) & OTHER_USERS) !== 0)
    return warning(
      `Other users may use ${file}, and the key in it (mode ${mode}).`,
      `Run: chmod 600 ${shellWord(file)}`,
      facts,
    );
  if (problem !== null)
    return warning(
      `${file} cannot be changed: ${errorText(problem)}.`,
      "imggen login and imggen config set need to write there.",
      facts,
    );
  if (stats === null) return ok(`${file}, not there yet`, facts);
  return ok(mode === null ? file : `${file}, mode ${mode}`, facts);
}

/** @throws UsageError if a command would refuse a value */
async function checkValues(settings: Settings, file: string, session: Session): Promise<void> {
  const hasModels = await session.matrix().then(
    () => true,
    () => false,
  );
  for (const name of SETTING_NAMES) {
    const value = settings[name];
    // The models have a check of their own, and without them nothing can be said of these.
    if (value === undefined || name === "matrix") continue;
    if (!hasModels && (name === "model" || name === "ratio")) continue;
    try {
      await checkSetting(name, value, session);
    } catch (error) {
      if (!(error instanceof ImggenError)) throw error;
      const removing = `Remove it: ${session.inProfile(`imggen config unset ${name}`)}`;
      throw new UsageError(`${file}: ${error.message}`, {
        hint: name === "apiKey" ? storeKey(session) : removing,
        cause: error,
      });
    }
  }
}

/** The next step where a stored key does not work. */
export function storeKey(session: Session): string {
  return `Store a key that works: ${session.inProfile("imggen login")}`;
}

/** The models that apply; the file that changes them, if there is one, is valid. */
export async function checkModels(session: Session): Promise<CheckResult> {
  const setting = await settingOf("matrix", session);
  const generator = await generatorOf(session);
  const file = setting?.value ?? null;
  try {
    const { length: count } = await session.matrix();
    if (generator !== null && !setting) return ok("the generator's own, without prices", { file, count });
    const label = setting ? `with those in ${file} (${setting.label})` : "built in";
    return ok(`${count} models, ${label}`, { file, count });
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    const hint = setting && `File format: imggen help json\n${withoutMatrixFile(setting, session.profile)}`;
    return failed(error.message, hint ?? error.hint, { file });
  }
}

/** Why what depends on the user's own generator is not checked; the check of the service reports it. */
export const WRONG_GENERATOR = "the settings of the generator are wrong";

/** The user's own generator, where it takes the place of a service. @throws NotChecked if its settings are wrong */
export function generatorOf(session: Session): Promise<OwnGenerator | null> {
  return needed(WRONG_GENERATOR, () => session.ownGenerator());
}

/** The value that applies. @throws NotChecked if the settings cannot be read */
export function settingOf(name: keyof Settings, { settings }: Session): Promise<Effective | undefined> {
  return needed("the settings cannot be read", () => settings.get(name));
}
