import path from "node:path";
import { keyFingerprint } from "../../lib/fingerprint.ts";
import { AccountBook } from "./book.ts";

/** The key that `imggen sandbox` prints: its account has a subscription. */
export const SANDBOX_KEY = "sk-sandbox";

/** The key of the one account without a subscription. */
export const SANDBOX_BASIC_KEY = "sk-sandbox-basic";

/** The initial balance. */
const START_CREDITS = 1000;

/** The account that a key is tied to (section 5). */
export interface Account {
  /** Identifies the account on disk, where the key is never written. */
  readonly id: string;
  /** Whether it may use the models that need a subscription (section 2.2). */
  readonly hasSubscription: boolean;
  readonly book: AccountBook;
}

/** Every key's account, created when the key is first used; one file each. */
export class Accounts {
  readonly #folder: string;
  readonly #startCredits: number;
  readonly #accounts = new Map<string, Account>();

  /** @param startCredits what a new account has; default 1000 */
  constructor(folder: string, startCredits = START_CREDITS) {
    this.#folder = folder;
    this.#startCredits = startCredits;
  }

  of(key: string): Account {
    const id = keyFingerprint(key);
    const existing = this.#accounts.get(id);
    if (existing !== undefined) return existing;
    const book = new AccountBook(path.join(this.#folder, `${id}.jsonl`), this.#startCredits);
    const account = { id, hasSubscription: key !== SANDBOX_BASIC_KEY, book };
    this.#accounts.set(id, account);
    return account;
  }

  /**
   * Gives an account what it started with, unless another request has just had that done.
   * @param credits what is to be paid @returns how many credits it was given; null for none
   */
  async refill({ book }: Account, credits: number): Promise<number | null> {
    return (await book.raise(this.#startCredits, credits)) ? this.#startCredits : null;
  }

  /** Sets the balance of the two named keys' accounts. */
  async setNamedBalances(credits: number): Promise<void> {
    const named = [SANDBOX_KEY, SANDBOX_BASIC_KEY].map((key) => this.of(key));
    await Promise.all(named.map(({ book }) => book.setBalance(credits)));
  }
}
