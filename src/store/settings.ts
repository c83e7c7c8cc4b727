import { chmod, readFile, stat } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createExclusive, makeFolder, removeIfPresent, writeAll } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";
import type { Processes } from "../lib/processes.ts";
import { SettingsError } from "./errors.ts";

/** Names a settings file may hold, as `imggen config` shows them. All values are texts. */
export const SETTING_NAMES = [
  "apiKey",
  "baseUrl",
  "model",
  "ratio",
  "quality",
  "output",
  "timeout",
  "confirmAbove",
  "dailyCredits",
] as const;

export type SettingName = (typeof SETTING_NAMES)[number];
export type Settings = { [Name in SettingName]?: string };

const CREDITS: ReadonlySet<SettingName> = new Set(["confirmAbove", "dailyCredits"]);

const WAIT_FOR_OTHERS_MS = 5_000;

/** The settings file: read plainly, so that a command starts at once, and written through conf. */
export class SettingsStore {
  readonly file: string;
  readonly #processes: Processes;

  constructor(folder: string, processes: Processes) {
    this.file = path.join(folder, "config.json");
    this.#processes = processes;
  }

  /**
   * The settings; none where there is no file. Modes wider than the owner's are narrowed.
   * @throws SettingsError where the file is damaged or cannot be read
   */
  async read(): Promise<Settings> {
    let text: string;
    try {
      text = await readFile(this.file, "utf8");
    } catch (error) {
      const code = errorCode(error);
      if (code === "ENOENT" || code === "ENOTDIR") return {};
      throw new SettingsError("usage", `The settings file cannot be read: ${this.file} (${code}).`, {
        cause: error,
      });
    }
    await narrowMode(path.dirname(this.file), 0o700);
    await narrowMode(this.file, 0o600);
    return parseSettings(text, this.file);
  }

  /**
   * Changes settings; `undefined` removes one. Two processes never lose each other's change.
   * @throws SettingsError where the file is damaged, or the disk did not take all of the new one
   */
  async update(changes: { [Name in SettingName]?: string | undefined }): Promise<void> {
    const folder = path.dirname(this.file);
    try {
      await makeFolder(folder, 0o700);
      const release = await this.#waitForTurn(folder);
      try {
        await this.#write(await this.read(), changes);
      } finally {
        await release();
      }
    } catch (error) {
      if (error instanceof SettingsError) throw error;
      throw new SettingsError("save_failed", `The settings could not be written: ${this.file}.`, {
        hint: `The old ones are as they were. ${error instanceof Error ? error.message : ""}`.trim(),
        cause: error,
      });
    }
  }

  async #waitForTurn(folder: string): Promise<() => Promise<void>> {
    // Loaded where it is needed: every command reads settings, and few write them.
    const { takeClaim } = await import("./claim.ts");
    for (const end = performance.now() + WAIT_FOR_OTHERS_MS; ; ) {
      const turn = await takeClaim(folder, "config", null, this.#processes);
      if (!turn.held) return () => turn.claim.release();
      if (performance.now() > end) throw new Error(`process ${turn.by.pid} is writing them`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async #write(before: Settings, changes: { [Name in SettingName]?: string | undefined }): Promise<void> {
    const changed = (settings: object) =>
      Object.fromEntries(
        Object.entries({ ...settings, ...changes }).filter(([, value]) => value !== undefined),
      );
    const after = changed(before);
    await this.#proveRoom(JSON.stringify(after));
    const { default: Conf } = await import("conf");
    const conf = new Conf<Settings>({
      cwd: path.dirname(this.file),
      configName: "config",
      configFileMode: 0o600,
      // Names that this release does not know are kept for the one that does.
      deserialize: (text) => readObject(text, this.file),
    });
    // In one step: a key must never stand beside another service's address.
    conf.store = changed(conf.store);
    if (!isDeepStrictEqual(await this.read(), after)) throw new Error("the disk did not take all of it");
  }

  /** conf's writer reports success after a short write, so the room is proven with a file of our own first. */
  async #proveRoom(text: string): Promise<void> {
    const probe = `${this.file}.probe`;
    await removeIfPresent(probe);
    const handle = await createExclusive(probe, 0o600);
    try {
      await writeAll(handle, Buffer.from(text.padEnd(2 * text.length + 4096)));
      await handle.sync();
    } finally {
      await handle.close();
      await removeIfPresent(probe);
    }
  }
}

/** Reads the file's text. @throws SettingsError where it is damaged */
export function parseSettings(text: string, file: string): Settings {
  const json = readObject(text, file);
  const settings: Settings = {};
  for (const name of SETTING_NAMES) {
    const value = Object.hasOwn(json, name) ? json[name] : undefined;
    if (value === undefined) continue;
    // A number of credits is what a person would write as a number.
    const isText = typeof value === "string" || (typeof value === "number" && CREDITS.has(name));
    if (!isText) throw corrupt(file, `"${name}" is not a text`);
    settings[name] = String(value);
  }
  return settings;
}

/** A byte-order mark is tolerated, an empty file is no settings. */
function readObject(text: string, file: string): Record<string, unknown> {
  const body = text.replace(/^\uFEFF/, "").trim();
  if (body === "") return {};
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (error) {
    throw corrupt(file, "it is not JSON", error);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw corrupt(file, "it is not a JSON object");
  }
  return json as Record<string, unknown>;
}

function corrupt(file: string, why: string, cause?: unknown): SettingsError {
  return new SettingsError("usage", `The settings file is damaged: ${file} (${why}).`, {
    hint: "It was left as it is. Mend it or move it away, then try again.",
    cause,
  });
}

/** Takes from others what is the owner's; a file that is somebody else's to change is read as it is. */
async function narrowMode(file: string, mode: number): Promise<void> {
  if (platform() === "win32") return;
  try {
    const { mode: now } = await stat(file);
    if ((now & 0o777 & ~mode) !== 0) await chmod(file, mode);
  } catch (error) {
    if (!["EPERM", "EACCES", "EROFS"].includes(errorCode(error) ?? "")) throw error;
  }
}
