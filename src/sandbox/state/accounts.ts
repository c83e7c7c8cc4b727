import { errorCode } from "../../lib/error-text.ts";
import { keyFingerprint } from "../../lib/fingerprint.ts";
import { isJsonObject } from "../../lib/json.ts";
import { readRegular } from "../../lib/read-file.ts";
import { replaceUnsynced } from "../../lib/write-whole.ts";

/** The key that `imggen sandbox` prints. Its account has a subscription. */
export const SANDBOX_KEY = "sk-sandbox";

/** The key of the only account without a subscription. */
export const SANDBOX_BASIC_KEY = "sk-sandbox-basic";

const START_CREDITS = 1000;

export interface Account {
  /** Fingerprint of the key, because the key itself is never stored. */
  readonly id: string;
  readonly hasSubscription: boolean;
}

/** `refilled`: one account has its initial balance again. `reset`: all accounts do, because the file is unreadable. */
export interface BalanceNotice {
  kind: "refilled" | "reset";
  credits: number;
}

interface AccountOptions {
  credits?: number;
  refills?: boolean;
  onNotice?: ((notice: BalanceNotice) => void) | undefined;
}

type Balances = Readonly<Record<string, number>>;

/** The file is not locked or synced, so a concurrent charge or a power cut can undo a charge. */
export class Accounts {
  readonly #file: string;
  readonly #startCredits: number;
  readonly #options: AccountOptions;

  constructor(file: string, options: AccountOptions) {
    this.#file = file;
    this.#startCredits = options.credits ?? START_CREDITS;
    this.#options = options;
  }

  find(key: string): Account {
    return { id: keyFingerprint(key), hasSubscription: key !== SANDBOX_BASIC_KEY };
  }

  /** Whether the balance is sufficient. Refills a low balance first, if refills are allowed. */
  covers(account: Account, credits: number): boolean {
    return this.#balanceFor(account, credits) >= credits;
  }

  /** @returns the remaining balance; null if the balance is too low */
  charge(account: Account, credits: number): number | null {
    const balance = this.#balanceFor(account, credits) - credits;
    if (balance < 0) return null;
    this.#write({ ...this.#read(), [account.id]: balance });
    return balance;
  }

  setNamedBalances(credits: number): void {
    const entries = [SANDBOX_KEY, SANDBOX_BASIC_KEY].map((key) => [this.find(key).id, credits] as const);
    this.#write({ ...this.#read(), ...Object.fromEntries(entries) });
  }

  #balanceFor({ id }: Account, cost: number): number {
    const balances = this.#read();
    const balance = balances[id] ?? this.#startCredits;
    if (balance >= cost || cost > this.#startCredits || !this.#options.refills) return balance;
    this.#write({ ...balances, [id]: this.#startCredits });
    this.#options.onNotice?.({ kind: "refilled", credits: this.#startCredits });
    return this.#startCredits;
  }

  #read(): Balances {
    try {
      const balances: unknown = JSON.parse(readRegular(this.#file).toString("utf8"));
      if (isBalances(balances)) return balances;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return {};
    }
    this.#write({});
    this.#options.onNotice?.({ kind: "reset", credits: this.#startCredits });
    return {};
  }

  #write(balances: Balances): void {
    replaceUnsynced(this.#file, JSON.stringify(balances), 0o600);
  }
}

function isBalances(value: unknown): value is Balances {
  return isJsonObject(value) && Object.values(value).every((each) => typeof each === "number");
}
