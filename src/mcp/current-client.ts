import type { Client } from "../client/client.ts";

/**
 * The client of the settings in effect. A client keeps the generator, and its key, that it was started with: after a
 * change it is replaced, as soon as no task of it is under way.
 */
export class CurrentClient {
  readonly #open: () => Client;
  #client: Client;
  #terms: string | null = null;
  #replaced: Promise<void> = Promise.resolve();

  constructor(open: () => Client) {
    this.#open = open;
    this.#client = open();
  }

  /**
   * @param terms the generator with all that is set about it
   * @param isIdle whether no task is under way
   */
  async of(terms: string, isIdle: boolean): Promise<Client> {
    this.#terms ??= terms;
    if (terms !== this.#terms && isIdle) {
      const replaced = this.#client;
      this.#terms = terms;
      this.#client = this.#open();
      this.#replaced = replaced.close();
    }
    // Two of them would run one queue.
    await this.#replaced;
    return this.#client;
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
