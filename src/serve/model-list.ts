import type { Clock } from "../lib/clock.ts";
import { includesModel } from "../models/check-request.ts";
import { ANY_MODEL } from "../task/request.ts";

/** Age at which a list is asked for again, in milliseconds. */
const FRESH_MS = 60_000;

/** Maximum wait of a client for a list, in milliseconds: only if its model is not in the last one. */
const MAX_WAIT_MS = 2_000;

/** Name for the model of a generator that lists none. */
export interface OwnModel {
  name: string;
  /** Whether the generator makes images with no other model. */
  isOnly: boolean;
}

interface ModelListOptions {
  /** The names of the generator's models; null if it has no list. Rejects if it cannot be asked. */
  models: () => Promise<readonly string[] | null>;
  /** null: each request must name a model. */
  ownModel: OwnModel | null;
  /** The model of requests that name none; null: the generator's own. */
  defaultModel: string | null;
  clock: Pick<Clock, "monotonicMs" | "sleep">;
}

/** The models of a generator. Only the refusal of a name that is not among them waits for its answer. */
export class ModelList {
  readonly #options: ModelListOptions;
  #names: readonly string[] | null = null;
  #refreshedMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;

  constructor(options: ModelListOptions) {
    this.#options = options;
  }

  /** Names that requests may give, as last known. */
  get names(): readonly string[] {
    const { ownModel, defaultModel } = this.#options;
    if (ownModel?.isOnly) return [ownModel.name];
    if (this.#names !== null) return this.#names;
    return [defaultModel ?? ownModel?.name].filter((name) => name !== undefined);
  }

  /** Asks the generator, and waits for a moment at most. Never throws. */
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
    const over = new AbortController();
    const timeout = clock.sleep(MAX_WAIT_MS, over.signal).catch(() => {});
    await Promise.race([this.#refreshing, timeout]);
    over.abort();
  }

  /** Asks the generator if the list is old. Waits for nothing. */
  renew(): void {
    if (this.#options.clock.monotonicMs() - this.#refreshedMs > FRESH_MS) void this.refresh();
  }

  /**
   * The generator's model for a name in a request: of a generator with one model that one, whatever the name. A model that has
   * just come is asked for. @returns null if the generator is known to have none of this name
   */
  async find(name: string | undefined): Promise<string | null> {
    const { ownModel, defaultModel } = this.#options;
    const ownName = defaultModel ?? ANY_MODEL;
    if (ownModel?.isOnly || name === ANY_MODEL) return ownName;
    const requestedName = name ?? ownName;
    if (requestedName === ANY_MODEL) return requestedName;
    const listedName = this.#listed(requestedName);
    if (listedName !== null) {
      this.renew();
      return listedName;
    }
    await this.refresh();
    const [only = null, ...others] = this.#names ?? [];
    return this.#listed(requestedName) ?? (name !== undefined && others.length === 0 ? only : null);
  }

  /** A name as the list has it; any, if there is no list. */
  #listed(name: string): string | null {
    if (this.#names === null || this.#names.includes(name)) return name;
    return this.#names.find((each) => includesModel([each], name)) ?? null;
  }
}
