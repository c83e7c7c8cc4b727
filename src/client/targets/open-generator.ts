import { createHash } from "node:crypto";
import path from "node:path";
import { guardedLookup, isLoopbackHost } from "../../api/address.ts";
import { HttpClient } from "../../api/http-client.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import type { GeneratorConnection } from "../../core/engine/deps.ts";
import { Line } from "../../core/limits/turns.ts";
import { keyFingerprint } from "../../lib/fingerprint.ts";
import { keyMasker, secretsMasker } from "../../lib/redact.ts";
import type { GeneratorOptions } from "../../providers/kind.ts";
import type { GeneratorSpec } from "../../providers/kinds.ts";
import type { Prepared } from "../../providers/provider.ts";
import { placeOf } from "../../providers/spec.ts";
import { GENERATOR_KEY_ID, type ServiceIdentity } from "../../task/intent.ts";
import { requireKey } from "../generator-key.ts";
import type { OwnGenerator } from "../generator-settings.ts";
import { modelsFolder, workflowsFolder } from "../user-folders.ts";
import { providerOf, throwNamed } from "./ask-generator.ts";
import { termsFor } from "./generator-work.ts";
import type { OpenTarget, TargetSession } from "./target.ts";

/** How long a turn lasts beyond the time limit of its request. */
const TURN_MARGIN_MS = 60_000;

export interface OpenGenerator extends OpenTarget {
  connection: GeneratorConnection;
}

/** Opens the user's own generator. Nothing is sent or run. @throws AuthRequiredError without a key that is needed */
export async function openGenerator(generator: OwnGenerator, session: TargetSession): Promise<OpenGenerator> {
  requireKey(generator);
  const { spec, options } = generator;
  const { folders, onExchange } = session;
  const packageKeys = spec.kind === "command" ? await keysOfPackages(folders.config) : [];
  const provider = await providerOf(generator, session, {
    ...{ cacheFolder: modelsFolder(folders), workflows: workflowsFolder(folders), packageKeys },
  });
  const serviceUrl = new URL(spec.kind === "command" ? "http://localhost" : spec.url);
  const downloads = new HttpClient({
    proxies: isLoopbackHost(serviceUrl.hostname) ? undefined : proxiesFromEnvironment(session.context.env),
    onExchange,
    lookup: guardedLookup(serviceUrl.hostname),
  });
  let prepared: Prepared = { isPaid: false };
  const prepare = async (signal: AbortSignal) => {
    prepared = (await provider.prepare?.(signal).catch(throwNamed)) ?? prepared;
  };
  const connection: GeneratorConnection = {
    identity: generatorIdentity(generator),
    provider,
    downloads,
    serviceUrl,
    maskKey: keyMasker(options.key ?? ""),
    termsFor: (request) => termsFor(request, options, prepared),
    maskUrl: secretsMasker(options.key, options.headers),
    generator: {
      name: spec.name,
      package: options.package,
      ...(provider.prepare && { prepare }),
      line: lineOf(spec, options, session),
    },
  };
  return { connection, close: async () => void (await Promise.all([provider.close(), downloads.close()])) };
}

/** The account of a generator, as its tasks name it. */
export function generatorIdentity({ spec, options: { key } }: OwnGenerator): ServiceIdentity {
  return { baseUrl: spec.name, keyId: key === null ? GENERATOR_KEY_ID : keyFingerprint(key) };
}

async function keysOfPackages(configFolder: string): Promise<string[]> {
  const { installedKeyVariables } = await import("../../providers/package/load.ts");
  return installedKeyVariables(configFolder);
}

/** The line before one server or command, over all processes of this state folder. */
function lineOf(
  spec: GeneratorSpec,
  { concurrency, timeoutMs }: GeneratorOptions,
  { folders, context }: TargetSession,
): Line {
  const digest = createHash("sha256").update(placeOf(spec)).digest("hex").slice(0, 16);
  const limits = { concurrency, forMs: timeoutMs + TURN_MARGIN_MS };
  return new Line(path.join(folders.state, "turns", digest), limits, context);
}
