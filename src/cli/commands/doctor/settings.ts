import { promises } from "node:fs";
import path from "node:path";
import type { Effective, EffectiveSettings } from "../../../client/effective-settings.ts";
import type { Folders } from "../../../client/folders.ts";
import { withoutMatrixFile } from "../../../client/matrix-in-effect.ts";
import { errorText } from "../../../lib/error-text.ts";
import { ImggenError, UsageError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import {
  readSettings,
  SETTING_NAMES,
  type SettingName,
  type Settings,
} from "../../../store/settings-file.ts";
import type { Session } from "../../app/session.ts";
import { checkSetting } from "../config.ts";
import { type CheckResult, type CheckSpec, failed, NotChecked, ok, warning } from "./check.ts";
import { folderFacts, modeText } from "./place.ts";

const OTHER_USERS = 0o077;

export function checkProfile({ session }: CheckSpec): CheckResult {
  const { profile } = session;
  if (profile === null) return ok("none", { name: null, source: "default" });
  knownFolders(session);
  session.requireProfile();
  return ok(`${profile.name} (${profile.label})`, { name: profile.name, source: profile.source });
}

/** The settings file: valid, private, and in a folder that can be written to. */
export async function checkConfig({ session }: CheckSpec): Promise<CheckResult> {
  const file = await settingsFileOf(session);
  await checkValues(readSettings(file), file, session);
  // Reading has narrowed the modes where it could.
  const stats = await promises.stat(file).catch(() => null);
  const folder = await folderFacts(path.dirname(file));
  const mode = stats === null || folder.mode === null ? null : stats.mode & 0o777;
  const facts = { file, exists: stats !== null, mode: mode === null ? null : modeText(mode) };
  if (mode !== null && (mode & OTHER_USERS) !== 0)
    return warning(
      `Other users may use ${file}, and the key in it (mode ${modeText(mode)}).`,
      `Run: chmod 600 ${shellWord(file)}`,
      facts,
    );
  if (folder.problem !== null)
    return warning(
      `${file} cannot be changed: ${errorText(folder.problem)}.`,
      "imggen login and imggen config set need to write there.",
      facts,
    );
  const what = mode === null ? "" : `, mode ${modeText(mode)}`;
  return ok(stats === null ? `${file}, not there yet` : `${file}${what}`, facts);
}

/** The file of the settings in use. @throws UsageError if there is no folder for it */
async function settingsFileOf(session: Session): Promise<string> {
  // Named before the profile, which another check reports.
  void session.folders;
  try {
    session.requireProfile();
  } catch (error) {
    if (error instanceof ImggenError) throw new NotChecked("the profile cannot be used");
    throw error;
  }
  return (await session.settingsStore()).file;
}

/** The models that apply; the file that changes them, if there is one, is valid. */
export async function checkModels({ session }: CheckSpec): Promise<CheckResult> {
  await settingOf("matrix", session);
  const file = session.settings.matrixFile();
  const facts = { file: file?.value ?? null };
  try {
    const { length } = await session.matrix();
    const label = file === undefined ? "built in" : `with those in ${file.value} (${file.label})`;
    return ok(`${length} models, ${label}`, { ...facts, count: length });
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    const hint = file && `File format: imggen help json\n${withoutMatrixFile(file, session.profile)}`;
    return failed(error.message, hint ?? error.hint, facts);
  }
}

/** @throws UsageError if a command would refuse a value */
async function checkValues(settings: Settings, file: string, session: Session): Promise<void> {
  const hasMatrix = await session.matrix().then(
    () => true,
    () => false,
  );
  for (const name of SETTING_NAMES) {
    const value = settings[name];
    // The models have a check of their own, and without them nothing can be said of these.
    if (value === undefined || name === "matrix") continue;
    if (!hasMatrix && (name === "model" || name === "ratio")) continue;
    try {
      await checkSetting(name, value, session);
    } catch (error) {
      if (!(error instanceof ImggenError)) throw error;
      throw new UsageError(`${file}: ${error.message}`, {
        hint: name === "apiKey" ? storeKey(session) : removeSetting(name, session),
        cause: error,
      });
    }
  }
}

/** The next step where a stored key does not work. */
export function storeKey(session: Session): string {
  return `Store a key that works: ${session.inProfile("imggen login")}`;
}

function removeSetting(name: SettingName, session: Session): string {
  return `Remove it: ${session.inProfile(`imggen config unset ${name}`)}`;
}

/** The folders of settings and state. @throws NotChecked where there are none */
export function knownFolders(session: Session): Folders {
  try {
    return session.folders;
  } catch (error) {
    if (error instanceof ImggenError) throw new NotChecked("there is no folder for settings and the ledger");
    throw error;
  }
}

/** The settings that apply. Reading one throws NotChecked if they cannot be read. */
export function readableSettings(session: Session): Pick<EffectiveSettings, "get"> {
  return { get: (name) => settingOf(name, session) };
}

/** The value that applies. @throws NotChecked if the settings cannot be read */
export async function settingOf(name: keyof Settings, session: Session): Promise<Effective | undefined> {
  try {
    return await session.settings.get(name);
  } catch (error) {
    if (error instanceof ImggenError) throw new NotChecked("the settings cannot be read");
    throw error;
  }
}
