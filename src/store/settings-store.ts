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
import { bindKeys, readObject, readSettings, type Settings, settingsFile } from "./settings-file.ts";
import { SettingsError } from "./store-errors.ts";

/** Maximum wait for other processes, because many simultaneous changes take seconds on a slow disk. */
const MAX_WAIT_MS = 20_000;
const RETRY_MS = 10;

const TICKET_DURATION_MS = 10_000;

const CONFIG = "config";

type Changes = { [Name in keyof Settings]?: string | undefined };

export class SettingsStore {
  readonly file: string;
  readonly #processes: Processes;

  constructor(folder: string, processes: Processes) {
    this.file = settingsFile(folder);
    this.#processes = processes;
  }

  async read(): Promise<Settings> {
    return readSettings(this.file);
  }

  /**
   * Applies changes, and keeps simultaneous changes of other processes.
   * @throws SettingsError if the file is damaged, or the disk is full
   */
  async update(changes: Changes): Promise<void> {
    await this.#exclusively(async () => this.#write(await this.read(), changes));
  }

  /** Removes temporary files of killed processes, which might contain the key. @throws SettingsError */
  async removeLeftovers(): Promise<boolean> {
    if (findLeftovers(this.file).length === 0) return false;
    await this.#exclusively(async () => {});
    return true;
  }

  /** Prevents other processes from writing settings, removes leftovers, and runs `work`. */
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
        hint: "The file is unchanged.",
        cause: error,
      });
    }
  }

  /** @throws Error after the maximum wait, with the id of the writing process */
  async #waitForTicket(folder: string): Promise<HeldTicket> {
    const tickets = new Tickets(folder, this.#processes, systemClock);
    tickets.sweep(CONFIG);
    for (const endMs = performance.now() + MAX_WAIT_MS; ; ) {
      const ticket = await tickets.take(CONFIG, TICKET_DURATION_MS);
      if (!Array.isArray(ticket)) return ticket;
      const pid = ticket[0]?.lease.by?.pid;
      if (performance.now() > endMs)
        throw new Error(`${pid === undefined ? "another process" : `process ${pid}`} is using it`);
      await systemClock.sleep(RETRY_MS);
    }
  }

  async #write(current: Settings, changes: Changes): Promise<void> {
    const updated = bindKeys(withoutUndefined({ ...current, ...changes }));
    await checkDiskSpace(this.file, 2 * Buffer.byteLength(JSON.stringify(updated)) + 4096);
    const { apiKeyBaseUrl, generatorKeyOrigin } = updated;
    const allChanges = { ...changes, apiKeyBaseUrl, generatorKeyOrigin };
    try {
      await this.#writeInMode(0o600, allChanges);
    } catch (error) {
      // Tries again with 0o666, for which conf sets no mode, because some file systems do not support modes.
      if (!isModeError(error)) throw error;
      await this.#writeInMode(0o666, allChanges);
    }
    giveToOwnerOfFolder(this.file);
    if (!isDeepStrictEqual(await this.read(), updated)) throw new Error("the disk did not store all of it");
  }

  async #writeInMode(configFileMode: number, changes: Changes): Promise<void> {
    const { default: Conf } = await import("conf");
    const conf = new Conf<Settings>({
      cwd: path.dirname(this.file),
      configName: "config",
      configFileMode,
      deserialize: (text) => readObject(text, this.file),
    });
    // All changes are written in one step, because a key must never be stored with the address of another service.
    conf.store = withoutUndefined({ ...conf.store, ...changes });
  }
}

function isModeError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && /chmod$/.test(String(error.syscall));
}

function withoutUndefined(fields: object): Settings {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Checks the disk space by writing a file, because conf reports success even after an incomplete write. The content is
 * random, because some file systems store zeros without using space.
 * @throws the system's error
 */
export async function checkDiskSpace(settingsFile: string, bytes: number): Promise<void> {
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

const LEFTOVER = /^\.(?:probe|tmp-\d{10}[0-9a-f]{6})$/;

/**
 * Finds temporary files of killed processes beside the settings file, and beside the target of a symbolic link, because
 * conf writes to the target. Only the process with the ticket is allowed to remove the files.
 */
export function findLeftovers(file: string): string[] {
  return [...new Set([file, resolveLink(file)])].flatMap((settingsPath) => {
    const [folder, name] = [path.dirname(settingsPath), path.basename(settingsPath)];
    const isLeftover = (sibling: string) =>
      sibling.startsWith(name) && LEFTOVER.test(sibling.slice(name.length));
    return unsortedNames(folder)
      .filter(isLeftover)
      .map((leftover) => path.join(folder, leftover));
  });
}

function resolveLink(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return file;
  }
}
