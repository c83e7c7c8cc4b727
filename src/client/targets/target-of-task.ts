import { requireSameAccount, requireSameKey } from "../../core/errors.ts";
import { UsageError } from "../../lib/error-types.ts";
import { option, phrase } from "../../lib/wording.ts";
import { type Intent, isAtGenerator, SANDBOX_SERVICE } from "../../task/intent.ts";
import { storedAccount } from "../stored-account.ts";
import { SandboxTarget } from "./sandbox-target.ts";
import { ServiceTarget } from "./service-target.ts";
import type { Target, TargetSession } from "./target.ts";

/**
 * The target of a stored task, of whichever profile. The sandbox is always available.
 * @param acceptsOtherKey whether another key than the task's will do
 * @throws OtherAccountError, MissingProviderError
 */
export async function targetOf(
  intent: Pick<Intent, "service" | "taskId">,
  taskId: string,
  acceptsOtherKey: boolean,
  session: TargetSession,
): Promise<Target> {
  const { service: identity } = intent;
  if (identity.baseUrl === SANDBOX_SERVICE) return new SandboxTarget(session);
  if (session.isSandbox)
    throw new UsageError(`Task ${taskId} is not one of the sandbox.`, {
      hint: phrase`Omit ${option("sandbox")}.`,
    });
  if (isAtGenerator(intent)) {
    const { GeneratorTarget } = await import("./generator-target.ts");
    const target = GeneratorTarget.ofTask(identity.baseUrl, taskId, session);
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
