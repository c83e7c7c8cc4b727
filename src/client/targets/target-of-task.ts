import { requireSameAccount, requireSameKey } from "../../core/errors.ts";
import { ImggenError, UsageError } from "../../lib/error-types.ts";
import { keyFingerprint } from "../../lib/fingerprint.ts";
import { option, phrase } from "../../lib/wording.ts";
import { readSettings, settingsFile } from "../../store/settings-file.ts";
import { type Intent, isAtGenerator, SANDBOX_SERVICE, type ServiceIdentity } from "../../task/intent.ts";
import { checkApiKey, checkBaseUrl } from "../account.ts";
import { settingsFolders } from "../profiles.ts";
import { SandboxTarget } from "./sandbox-target.ts";
import { type ServiceAccount, ServiceTarget } from "./service-target.ts";
import type { Target, TargetSession } from "./target.ts";

/**
 * Returns the target of a stored task. The account can be from any profile.
 * @throws OtherAccountError, MissingProviderError
 */
export async function taskTarget(
  intent: Pick<Intent, "service" | "taskId">,
  taskId: string,
  acceptsOtherKey: boolean,
  session: TargetSession,
): Promise<Target> {
  const { service: identity } = intent;
  if (identity.baseUrl === SANDBOX_SERVICE) return new SandboxTarget(session);
  if (session.isSandbox)
    throw new UsageError(`Task ${taskId} is not a task of the sandbox.`, {
      hint: phrase`Omit ${option("sandbox")}.`,
    });
  if (isAtGenerator(intent)) {
    const { GeneratorTarget } = await import("./generator-target.ts");
    const target = GeneratorTarget.forTask(identity, taskId, session);
    if (!acceptsOtherKey) requireSameKey(intent, target.identity, taskId);
    return target;
  }
  const target = new ServiceTarget(session);
  try {
    requireSameAccount(intent, await target.identity(), taskId);
    return target;
  } catch (error) {
    const account = storedAccount(identity, session.folders.config);
    if (account !== null) return new ServiceTarget(session, account);
    if (!acceptsOtherKey) throw error;
    requireSameAccount(intent, await target.identity(), taskId, true);
    return target;
  }
}

function storedAccount({ baseUrl, keyId }: ServiceIdentity, configFolder: string): ServiceAccount | null {
  for (const folder of settingsFolders(configFolder)) {
    const account = readStoredAccount(folder);
    if (account?.baseUrl === baseUrl && keyFingerprint(account.apiKey) === keyId) return account;
  }
  return null;
}

function readStoredAccount(folder: string): ServiceAccount | null {
  try {
    const { apiKeyBaseUrl: baseUrl, apiKey } = readSettings(settingsFile(folder));
    if (baseUrl === undefined || apiKey === undefined) return null;
    return { baseUrl: checkBaseUrl(baseUrl, "baseUrl"), apiKey: checkApiKey(apiKey, "apiKey") };
  } catch (error) {
    // Errors of a damaged profile are ignored, because they are reported when the profile is used.
    if (error instanceof ImggenError) return null;
    throw error;
  }
}
