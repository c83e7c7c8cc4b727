import { ServiceError } from "../api/api-errors.ts";
import { UsageError } from "../lib/error-types.ts";
import { documentedCost, estimateCost, formatCostRange } from "../models/cost.ts";
import { resolveModel } from "../models/find.ts";
import { DEFAULT_MODEL, MODELS, type Model } from "../models/matrix.ts";
import { canCarryKey, storedSpec } from "../providers/spec.ts";
import { checkGeneratorKey } from "./account.ts";
import { supportsLogin } from "./generator-settings.ts";
import { loadUnconfiguredGenerator, resolveSpec } from "./targets/generator-setup.ts";
import { GeneratorTarget } from "./targets/generator-target.ts";
import { ServiceTarget } from "./targets/service-target.ts";
import type { TargetSession } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

const VERIFY_TIMEOUT_MS = 15_000;
const UNCHECKED_HINT = "To store the key unchecked, add --no-verify.";

/** @throws AuthRequiredError for a refused key, ServiceError for another program's reply, NetworkError */
export async function verifyAccount(
  account: { baseUrl: string; apiKey: string },
  session: TargetSession,
  signal: AbortSignal,
): Promise<void> {
  const check = await new ServiceTarget(session, account).check({ signal, timeoutMs: VERIFY_TIMEOUT_MS });
  signal.throwIfAborted();
  const failure = check.failure("Nothing was stored.", UNCHECKED_HINT);
  if (failure !== null) throw failure;
}

export type GeneratorLogin = ReturnType<typeof generatorLogin>;

/** Prepares a generator to store. `address`: server for the key, or null for a command. @throws UsageError */
export function generatorLogin(text: string, session: TargetSession) {
  const spec = resolveSpec(text, "--generator", session);
  const url = spec.kind === "command" ? null : new URL(spec.url);
  return {
    name: spec.name,
    setting: storedSpec(spec),
    address: url && { host: url.host, origin: url.origin },
    /** @throws UsageError for a key that cannot be sent to the generator */
    checkKey(input: string): string {
      if (url !== null && !canCarryKey({ url: url.href }))
        throw new UsageError("A key is sent only to https:// addresses and to addresses of this machine.", {
          hint: "Nothing was stored. A server that needs no key works over http.",
        });
      return checkGeneratorKey(input, "This key", supportsLogin(spec));
    },
    /**
     * Lists the generator's models at no cost.
     * @returns whether the generator has a list, or the error of the list
     * @throws AuthRequiredError, NetworkError
     */
    async verify(key: string | null, signal: AbortSignal): Promise<boolean | ServiceError> {
      const { options } = loadUnconfiguredGenerator(storedSpec(spec), session);
      const readGenerator = () => ({ spec, options: { ...options, key } });
      const check = await new GeneratorTarget(spec.name, readGenerator, session).check({ signal });
      const failure = check.failure("", "");
      if (failure instanceof ServiceError) return failure;
      if (failure !== null) throw failure;
      return check.isVerified;
    },
  };
}

/**
 * Finds a model with documented costs, in the preferred or the cheapest quality.
 * @returns null if the costs of `model` are documented, or if no model has documented costs
 */
export async function findPricedModel(
  session: TargetSession,
  model: string = DEFAULT_MODEL,
  preferredQuality: string | undefined = undefined,
) {
  // Uses the built-in models if the matrix file is invalid, because an invalid file must not fail the login.
  const readMatrix = async () => (await targetInEffect(session)).matrix();
  const matrix = await readMatrix().catch(() => MODELS);
  if (resolveModel(model, matrix)?.credits !== null) return null;
  const candidate = matrix.find(({ credits, kinds }) => credits !== null && kinds?.includes("text-to-image"));
  if (candidate === undefined) return null;
  const isPreferred = (each: string) => each === preferredQuality && documentedCost(candidate, each) !== null;
  const quality = candidate.qualities?.find(isPreferred) ?? cheapestQuality(candidate);
  const cost =
    quality === undefined ? formatCostRange(candidate) : `${documentedCost(candidate, quality)} credits`;
  return { name: model, id: candidate.id, quality, cost };
}

function cheapestQuality(model: Model): string | undefined {
  if (!estimateCost(model, undefined).estimate) return undefined;
  const { credits } = estimateCost(model, undefined);
  return model.qualities?.find((quality) => documentedCost(model, quality) === credits);
}
