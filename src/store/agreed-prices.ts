import { createHash } from "node:crypto";
import path from "node:path";
import { makeFolder } from "../lib/durable.ts";
import { readField } from "../lib/read-file.ts";
import { replaceWhole } from "../lib/write-whole.ts";

/** A paid model without a documented price. */
export interface UnpricedModel {
  /** The provider's name in the ledger. */
  address: string;
  model: string;
}

/**
 * The models that a person has agreed to pay for without a documented price. One small file for each, so that no process
 * rewrites another's.
 */
export class AgreedPrices {
  readonly #folder: string;

  constructor(stateFolder: string) {
    this.#folder = path.join(stateFolder, "agreed-prices");
  }

  /** Whether a person agrees. Asks once for each model, and again if its file is missing or damaged. Throws what `ask` throws. */
  async agree(unpriced: UnpricedModel, ask: () => Promise<boolean>): Promise<boolean> {
    if (this.#has(unpriced)) return true;
    if (!(await ask())) return false;
    await this.#record(unpriced);
    return true;
  }

  #has(unpriced: UnpricedModel): boolean {
    const file = this.#fileOf(unpriced);
    try {
      return (["address", "model"] as const).every((name) => readField(file, name) === unpriced[name]);
    } catch {
      return false;
    }
  }

  /** A folder that cannot be written must not keep an image from being made: the question comes again. */
  async #record(unpriced: UnpricedModel): Promise<void> {
    try {
      await makeFolder(this.#folder, 0o700);
      const { address, model } = unpriced;
      await replaceWhole(this.#fileOf(unpriced), `${JSON.stringify({ address, model })}\n`, 0o600);
    } catch {}
  }

  #fileOf({ address, model }: UnpricedModel): string {
    const name = createHash("sha256").update(`${address}\0${model}`).digest("hex").slice(0, 32);
    return path.join(this.#folder, `${name}.json`);
  }
}
