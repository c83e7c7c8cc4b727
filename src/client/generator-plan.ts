import { referencesOf } from "../core/task/jobs.ts";
import { errorOf } from "../providers/failures.ts";
import { openProvider } from "../providers/kinds.ts";
import { ProviderError } from "../providers/provider.ts";
import type { GenerationRequest } from "../task/request.ts";
import { workFor } from "./generator-connection.ts";
import { generatorInEffect } from "./service-in-effect.ts";
import type { ClientSession } from "./session.ts";

/**
 * What a request to the user's own generator sets there, a line each, for a dry run; none where its kind has nothing to
 * say of that. Connects to nothing, and keeps nothing. @throws ImggenError where the generator has no place for a part
 */
export async function generatorPlan(
  request: GenerationRequest,
  session: Pick<ClientSession, "settings" | "context">,
): Promise<string[]> {
  const own = await generatorInEffect(session);
  if (own === null) return [];
  const { env, clock } = session.context;
  const provider = await openProvider(own.spec, own.options, { env, clock, proxies: undefined });
  try {
    const prepared = await provider.prepare?.(null);
    const { isPaid, options } = workFor(request, own.options, prepared);
    return provider.plan?.({ request, isPaid, options, references: referencesOf(request) }) ?? [];
  } catch (error) {
    throw error instanceof ProviderError ? errorOf(error) : error;
  } finally {
    await provider.close();
  }
}
