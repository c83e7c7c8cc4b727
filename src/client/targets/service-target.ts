import { NoHomeError } from "../../lib/home-folder.ts";
import { type Matrix, MODELS } from "../../models/matrix.ts";
import type { ServiceIdentity } from "../../task/intent.ts";
import type { MatrixSource } from "./matrix-setting.ts";
import type {
  OpenOptions,
  OpenTarget,
  Target,
  TargetCheck,
  TargetCheckOptions,
  TargetSession,
} from "./target.ts";

export interface ServiceAccount {
  baseUrl: string;
  apiKey: string;
}

export class ServiceTarget implements Target {
  readonly kind: "service" | "serve" = "service";
  readonly #session: TargetSession;
  readonly #account: ServiceAccount | undefined;

  constructor(session: TargetSession, account?: ServiceAccount) {
    this.#session = session;
    this.#account = account;
  }

  async name(): Promise<string | undefined> {
    const setting = this.#session.settings.get("baseUrl");
    if (setting === undefined) return undefined;
    const { checkBaseUrl } = await import("../account.ts");
    return checkBaseUrl(setting.value, setting.label);
  }

  url(): URL | null {
    const text = this.#account?.baseUrl ?? this.#session.settings.get("baseUrl")?.value;
    return text !== undefined && URL.canParse(text) ? new URL(text) : null;
  }

  matrix(): Promise<Matrix> {
    return serviceMatrix(this.#session);
  }

  terms: Target["terms"] = async () => null;
  models: Target["models"] = async () => null;
  describe: Target["describe"] = async () => null;

  /** Reads the account each time, because a login might have changed the settings. */
  async #currentAccount(): Promise<ServiceAccount> {
    const { configuredService } = await import("../account.ts");
    return this.#account ?? configuredService(this.#session.settings);
  }

  /** @throws UsageError if no base URL is set, AuthRequiredError if no key is set */
  async identity(): Promise<ServiceIdentity> {
    const { keyFingerprint } = await import("../../lib/fingerprint.ts");
    const { baseUrl, apiKey } = await this.#currentAccount();
    return { baseUrl, keyId: keyFingerprint(apiKey) };
  }

  async key(): Promise<string> {
    const { baseUrl, keyId } = await this.identity();
    return `${baseUrl} ${keyId}`;
  }

  async open({ requestTimeoutMs }: OpenOptions): Promise<OpenTarget> {
    const account = { ...(await this.#currentAccount()), identity: await this.identity() };
    const { connectService } = await import("./service-connection.ts");
    return connectService(account, { requestTimeoutMs, usesProxy: true }, this.#session);
  }

  async check(options: TargetCheckOptions): Promise<TargetCheck> {
    const { checkService } = await import("./service-check.ts");
    return checkService(this.#account, this.#session, options);
  }
}

/** Loads the parser of the matrix file on demand. @throws UsageError, SettingsError */
export async function serviceMatrix(source: MatrixSource): Promise<Matrix> {
  if (!hasMatrixFile(source)) return MODELS;
  const { serviceModels } = await import("./matrix-setting.ts");
  return serviceModels(source);
}

/** Whether a matrix file is set. False without a home folder, because listing models does not need one. */
function hasMatrixFile({ settings }: MatrixSource): boolean {
  try {
    return settings.get("matrix") !== undefined;
  } catch (error) {
    if (error instanceof NoHomeError) return false;
    throw error;
  }
}
