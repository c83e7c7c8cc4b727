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
import { unsortedNames } from "./ledger-files.ts";
import { readObject, readSettings, type Settings, settingsFile, withKeyBound } from "./settings-file.ts";
import { SettingsError } from "./store-errors.ts";

/** Many simultaneous changes take seconds on a slow disk; waiting does no harm. */
const MAX_WAIT_MS = 20_000;
const RETRY_MS = 10;

/** Lease for a change of the settings, in milliseconds. */
const CHANGE_MS = 10_000;

const CONFIG = "config";

/** `undefined` removes a setting. */
type Changes = { [Name in keyof Settings]?: string | undefined };

/** Changes the settings file for login, logout and config, by means of conf. */
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
   * Two processes never lose each other's change. A new key comes with its base URL.
   * @throws SettingsError if the file is damaged, or the disk did not store all of the new one
   */
  async update(changes: Changes): Promise<void> {
    await this.#exclusively(async () => this.#write(await this.read(), changes));
  }

  /**
   * Removes leftovers of processes that were killed while writing, which may contain the key.
   * @returns false if there was none
   * @throws SettingsError
   */
  async removeLeftovers(): Promise<boolean> {
    if (findLeftovers(this.file).length === 0) return false;
    await this.#exclusively(async () => {});
    return true;
  }

  /** Runs `work` while no other process writes settings, after removing leftovers. */
  async #exclusively(work: () => Promise<void>): Promise<void> {
    const folder = path.dirname(this.file);
    try {
      await makeFolder(folder, 0o700);
      const ticket = await this.#waitForTicket(folder);
      try {
        for (const leftover of findLeftovers(this.file)) removeIfPresent(leftover);
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

  /** @throws Error naming the process that has the turn, after the maximum wait */
  async #waitForTicket(folder: string): Promise<HeldTicket> {
    const tickets = new Tickets(folder, this.#processes, systemClock);
    tickets.sweep(CONFIG);
    for (const endMs = performance.now() + MAX_WAIT_MS; ; ) {
      const ticket = await tickets.take(CONFIG, CHANGE_MS);
      if (!Array.isArray(ticket)) return ticket;
      const pid = ticket[0]?.lease.by?.pid;
      if (performance.now() > endMs)
        throw new Error(`${pid === undefined ? "another process" : `process ${pid}`} is using it`);
      await systemClock.sleep(RETRY_MS);
    }
  }

  async #write(before: Settings, changes: Changes): Promise<void> {
    const after = withKeyBound(withoutUndefined({ ...before, ...changes }));
    await proveRoom(this.file, 2 * Buffer.byteLength(JSON.stringify(after)) + 4096);
    const { apiKeyBaseUrl, generatorKeyOrigin } = after;
    const all = { ...changes, apiKeyBaseUrl, generatorKeyOrigin };
    try {
      await this.#writeInMode(0o600, all);
    } catch (error) {
      // The disk refuses modes: conf skips the default one.
      if (!isModeError(error)) throw error;
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
      // Keeps settings of a later release.
      deserialize: (text) => readObject(text, this.file),
    });
    // In one step: a key must never be stored with another service's address.
    conf.store = withoutUndefined({ ...conf.store, ...changes });
  }
}

function isModeError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && /chmod$/.test(String(error.syscall));
}

function withoutUndefined(fields: object): Settings {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

// Not covered by conf: a full disk, and a process killed during a write.

/**
 * conf reports success even after a short write, so this probe first checks for space. It has random bytes: it must
 * not leak the settings if the process is killed, and zeros may take no space.
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

/** Suffixes of the probe and of conf's temporary file. */
const LEFTOVER = /^\.(?:probe|tmp-\d{10}[0-9a-f]{6})$/;

/**
 * The leftovers of killed processes beside the settings, or beside the target of a link, which conf follows. Only the
 * process with the turn may remove them.
 */
export function findLeftovers(file: string): string[] {
  return [...new Set([file, realFile(file)])].flatMap((each) => {
    const [folder, name] = [path.dirname(each), path.basename(each)];
    const isLeftover = (other: string) => other.startsWith(name) && LEFTOVER.test(other.slice(name.length));
    return unsortedNames(folder)
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
