import path from "node:path";
import { removeIfPossible } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { jsonOrNull } from "../../lib/json.ts";
import type { Processes, ProcessIdentity } from "../../lib/processes.ts";
import { readText } from "../../lib/read-file.ts";
import { replaceWhole } from "../../lib/write-whole.ts";
import type { GeneratorFailure } from "../../providers/generator.ts";

export type AccountKey = Extract<GeneratorFailure, { kind: "account" }>["key"];

/** What the generator said of the account. */
export interface Pause {
  key: AccountKey;
  detail: string;
  /** Milliseconds since the epoch. */
  at: number;
}

type WrittenPause = Pause & { by: ProcessIdentity };

/** The pause that a refused account means for all processes that share a folder: one request is enough to learn it. */
export class SharedPause {
  readonly #file: string;
  readonly #processes: Processes;

  constructor(folder: string, processes: Processes) {
    this.#file = path.join(folder, "pause.json");
    this.#processes = processes;
  }

  async begin(pause: Pause): Promise<void> {
    await replaceWhole(this.#file, JSON.stringify({ ...pause, by: this.#processes.self }), 0o600);
  }

  end(): void {
    removeIfPossible(this.#file);
  }

  /** The pause that was begun after this moment, milliseconds since the epoch: an older one may be over. */
  async since(atMs: number): Promise<Pause | null> {
    const pause = await this.#read();
    return pause !== null && pause.at > atMs ? pause : null;
  }

  /** The pause of a process that is still there. */
  async ofLiving(): Promise<Pause | null> {
    const pause = await this.#read();
    return pause !== null && this.#processes.isAlive(pause.by) ? pause : null;
  }

  async #read(): Promise<WrittenPause | null> {
    try {
      return jsonOrNull(await readText(this.#file)) as WrittenPause | null;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    }
  }
}
