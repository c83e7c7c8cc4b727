import type { Clock } from "../lib/clock.ts";
import { includesModel } from "../models/check-request.ts";
import { ANY_MODEL } from "../task/request.ts";

const MAX_AGE_MS = 60_000;

/** Maximum wait for a new list in milliseconds, if the model of a request is not in the previous list. */
const MAX_WAIT_MS = 2_000;

export interface OwnModel {
  name: string;
  isOnly: boolean;
}

interface ModelListOptions {
  models: () => Promise<readonly string[] | null>;
  ownModel: OwnModel | null;
  defaultModel: string | null;
  clock: Pick<Clock, "monotonicMs" | "sleep">;
}

export class ModelList {
  readonly #options: ModelListOptions;
  #names: readonly string[] | null = null;
  #refreshedMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;

  constructor(options: ModelListOptions) {
    this.#options = options;
  }

  get names(): readonly string[] {
    const { ownModel, defaultModel } = this.#options;
    if (ownModel?.isOnly) return [ownModel.name];
    if (this.#names !== null) return this.#names;
    return [defaultModel ?? ownModel?.name].filter((name) => name !== undefined);
  }

  /** Requests a new list, and waits for it at most `MAX_WAIT_MS`. Never throws. */
  async refresh(): Promise<void> {
    const { models, clock } = this.#options;
    this.#refreshing ??= models()
      .then(
        (names) => {
          this.#names = names !== null && names.length > 0 ? names : null;
        },
        () => {
          this.#names = null;
        },
      )
      .finally(() => {
        this.#refreshedMs = clock.monotonicMs();
        this.#refreshing = null;
      });
    const loaded = new AbortController();
    const timeout = clock.sleep(MAX_WAIT_MS, loaded.signal).catch(() => {});
    await Promise.race([this.#refreshing, timeout]);
    loaded.abort();
  }

  refreshIfOld(): void {
    if (this.#options.clock.monotonicMs() - this.#refreshedMs > MAX_AGE_MS) void this.refresh();
  }

  /** Returns the generator's name for a model, or null if unknown. A generator's only model matches every name. */
  async find(name: string | undefined): Promise<string | null> {
    const { ownModel, defaultModel } = this.#options;
    const defaultName = defaultModel ?? ANY_MODEL;
    if (ownModel?.isOnly || name === ANY_MODEL) return defaultName;
    const requestedName = name ?? defaultName;
    if (requestedName === ANY_MODEL) return requestedName;
    const listedName = this.#findListed(requestedName);
    if (listedName !== null) {
      this.refreshIfOld();
      return listedName;
    }
    await this.refresh();
    const [only = null, ...others] = this.#names ?? [];
    return this.#findListed(requestedName) ?? (name !== undefined && others.length === 0 ? only : null);
  }

  /** Returns the spelling in the list, or null if the name is not listed. Without a list, every name is valid. */
  #findListed(name: string): string | null {
    if (this.#names === null || this.#names.includes(name)) return name;
    return this.#names.find((each) => includesModel([each], name)) ?? null;
  }
}
