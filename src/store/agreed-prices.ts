import { createHash } from "node:crypto";
import path from "node:path";
import { makeFolder } from "../lib/durable.ts";
import { readField } from "../lib/read-file.ts";
import { replaceAtomically } from "../lib/write-whole.ts";

export interface UnpricedModel {
  /** The provider's name in the ledger. */
  address: string;
  model: string;
}

/** Agreements to pay for models without a documented price, one file each, because processes run in parallel. */
export class AgreedPrices {
  readonly #folder: string;

  constructor(stateFolder: string) {
    this.#folder = path.join(stateFolder, "agreed-prices");
  }

  /** Asks only if the record is missing or damaged. @throws the exceptions of `ask` */
  async agree(unpriced: UnpricedModel, ask: () => Promise<boolean>): Promise<boolean> {
    if (this.#has(unpriced)) return true;
    if (!(await ask())) return false;
    await this.#record(unpriced);
    return true;
  }

  #has(unpriced: UnpricedModel): boolean {
    const file = this.#recordPath(unpriced);
    try {
      return (["address", "model"] as const).every((name) => readField(file, name) === unpriced[name]);
    } catch {
      return false;
    }
  }

  /** Ignores disk errors, because without a record the user is only asked again. */
  async #record(unpriced: UnpricedModel): Promise<void> {
    try {
      await makeFolder(this.#folder, 0o700);
      const { address, model } = unpriced;
      await replaceAtomically(this.#recordPath(unpriced), `${JSON.stringify({ address, model })}\n`, 0o600);
    } catch {}
  }

  #recordPath({ address, model }: UnpricedModel): string {
    const name = createHash("sha256").update(`${address}\0${model}`).digest("hex").slice(0, 32);
    return path.join(this.#folder, `${name}.json`);
  }
}
