import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../lib/clock.ts";
import { DiskFile, giveToOwnerOfFolder } from "../lib/disk-file.ts";
import { makeFolder, removeIfPresent } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import type { Processes } from "../lib/processes.ts";
import { type HeldTicket, Tickets } from "../lib/tickets.ts";
import { namesIn } from "./ledger-files.ts";
import { readObject, readSettings, type Settings, settingsFile, withKeyBound } from "./settings-file.ts";
import { SettingsError } from "./store-errors.ts";

/** Many changes at once take seconds on a slow disk. A process that waits for them loses nothing. */
const WAIT_FOR_OTHERS_MS = 20_000;
const TRY_AGAIN_MS = 10;

/** How long others respect a process that changes the settings, milliseconds. */
const CHANGE_MS = 10_000;

const CONFIG = "config";

/** `undefined` removes a setting. */
type Changes = { [Name in keyof Settings]?: string | undefined };

/** The settings file as login, logout and config change it: through conf. */
export class SettingsStore {
  readonly file: string;
  readonly #processes: Processes;

  constructor(folder: string, processes: Processes) {
    this.file = settingsFile(folder);
    this.#processes = processes;
  }

  /** @throws SettingsError if the file is damaged or cannot be read */
  async read(): Promise<Settings> {
    return readSettings(this.file);
  }

  /**
   * Changes settings. Two processes never lose each other's change. A new key comes with its base URL.
   * @throws SettingsError if the file is damaged, or the disk did not take all of the new one
   */
  async update(changes: Changes): Promise<void> {
    await this.#alone(async () => this.#write(await this.read(), changes));
  }

  /**
   * Removes what processes that were killed while writing left beside the settings, which may contain the key.
   * @returns false if there was nothing to remove
   * @throws SettingsError
   */
  async removeLeftovers(): Promise<boolean> {
    if (leftoversOf(this.file).length === 0) return false;
    await this.#alone(async () => {});
    return true;
  }

  /** Runs `work` while no other process writes settings, and removes leftovers of earlier ones. */
  async #alone(work: () => Promise<void>): Promise<void> {
    const folder = path.dirname(this.file);
    try {
      await makeFolder(folder, 0o700);
      const ticket = await this.#inTurn(folder);
      try {
        for (const leftover of leftoversOf(this.file)) removeIfPresent(leftover);
        await work();
      } finally {
        ticket.release();
      }
    } catch (error) {
      if (error instanceof SettingsError) throw error;
      const message = `The settings could not be written to ${this.file}: ${errorText(error)}.`;
      throw new SettingsError("save_failed", message, {
        hint: "The old ones are as they were.",
        cause: error,
      });
    }
  }

  /** @throws Error that names the process that still writes settings after a time */
  async #inTurn(folder: string): Promise<HeldTicket> {
    const tickets = new Tickets(folder, this.#processes, systemClock);
    tickets.sweep(CONFIG);
    for (const endMs = performance.now() + WAIT_FOR_OTHERS_MS; ; ) {
      const ticket = await tickets.take(CONFIG, CHANGE_MS);
      if (!Array.isArray(ticket)) return ticket;
      const pid = ticket[0]?.lease.by?.pid;
      if (performance.now() > endMs)
        throw new Error(`${pid === undefined ? "another process" : `process ${pid}`} is using it`);
      await systemClock.sleep(TRY_AGAIN_MS);
    }
  }

  async #write(before: Settings, changes: Changes): Promise<void> {
    const after = withKeyBound(definedOf({ ...before, ...changes }));
    await proveRoom(this.file, 2 * Buffer.byteLength(JSON.stringify(after)) + 4096);
    const { apiKeyBaseUrl, generatorKeyOrigin } = after;
    const all = { ...changes, apiKeyBaseUrl, generatorKeyOrigin };
    try {
      await this.#writeInMode(0o600, all);
    } catch (error) {
      // A disk that refuses modes: conf sets none that is its default.
      if (!isOfMode(error)) throw error;
      await this.#writeInMode(0o666, all);
    }
    giveToOwnerOfFolder(this.file);
    if (!isDeepStrictEqual(await this.read(), after)) throw new Error("the disk did not take all of it");
  }

  async #writeInMode(configFileMode: number, changes: Changes): Promise<void> {
    const { default: Conf } = await import("conf");
    const conf = new Conf<Settings>({
      cwd: path.dirname(this.file),
      configName: "config",
      configFileMode,
      // Names that this release does not know are kept for the one that does.
      deserialize: (text) => readObject(text, this.file),
    });
    // In one step: a key must never stand beside another service's address.
    conf.store = definedOf({ ...conf.store, ...changes });
  }
}

function isOfMode(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && /chmod$/.test(String(error.syscall));
}

function definedOf(fields: object): Settings {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

// What conf leaves open: a disk that is full, and a process that is killed while it writes.

/**
 * conf's writer reports success after a short write, so a file of our own checks first that there is room. It has
 * random bytes: the settings must not be in it if the process is killed, and zeros may take no space at all.
 * @throws the system's error
 */
export async function proveRoom(settingsFile: string, bytes: number): Promise<void> {
  const probe = `${settingsFile}.probe`;
  const file = DiskFile.createExclusive(probe, 0o600);
  try {
    file.write(randomBytes(bytes));
    await file.sync();
  } finally {
    file.close();
    removeIfPresent(probe);
  }
}

/** Suffixes of the settings file's name: the probe's, and that of conf's temporary file. */
const LEFTOVER = /^\.(?:probe|tmp-\d{10}[0-9a-f]{6})$/;

/**
 * The files that killed processes left beside the settings. conf follows a link, so they may be beside its target. Only
 * a process that alone may write settings may remove them.
 */
export function leftoversOf(file: string): string[] {
  return [...new Set([file, realFile(file)])].flatMap((each) => {
    const [folder, name] = [path.dirname(each), path.basename(each)];
    const isLeftover = (other: string) => other.startsWith(name) && LEFTOVER.test(other.slice(name.length));
    return namesIn(folder)
      .filter(isLeftover)
      .map((other) => path.join(folder, other));
  });
}

/** The target of a symbolic link; the file itself if it is not a link or does not exist. */
function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return file;
  }
}
