import { createHash } from "node:crypto";
import path from "node:path";
import { guardedLookup, isLoopbackHost } from "../api/address.ts";
import { HttpClient } from "../api/client.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import type { GeneratorConnection } from "../core/deps.ts";
import { Line } from "../core/turns/line.ts";
import { keyMasker } from "../lib/redact.ts";
import { pictureDimensions } from "../models/dimensions.ts";
import { type GeneratorSpec, openProvider } from "../providers/kinds.ts";
import type { GeneratorOptions } from "../providers/options.ts";
import { placeOf } from "../providers/spec.ts";
import { GENERATOR_KEY_ID } from "../task/intent.ts";
import { ANY_MODEL, type GenerationRequest } from "../task/request.ts";
import { newTaskId } from "../task/task-id.ts";
import type { Work } from "../task/work.ts";
import { type OwnGenerator, requireKey } from "./own-generator.ts";
import type { ClientSession } from "./session.ts";

// Loaded only where there is a generator.

/** For how much longer than a request may take its turn is respected. */
const TURN_MARGIN_MS = 60_000;

/** A lease lasts a day at most, and a request's turn a little longer than the request. */
const LONGEST_REQUEST_MS = 23 * 3_600_000;

/** Opens the user's own generator. Nothing is sent or run. @throws AuthRequiredError without a key that is needed */
export async function openGenerator(
  own: OwnGenerator,
  session: ClientSession,
): Promise<{ connection: GeneratorConnection; close: () => Promise<void> }> {
  requireKey(own);
  const { spec, options } = own;
  const { env, clock } = session.context;
  const { onExchange } = session;
  const proxies = proxiesFromEnvironment(env);
  const cacheFolder = path.join(session.folders.state, "models");
  const provider = await openProvider(spec, options, { env, clock, proxies, onExchange, cacheFolder });
  const serviceUrl = new URL(spec.kind === "command" ? "http://localhost" : spec.url);
  const downloads = new HttpClient({
    proxies: isLoopbackHost(serviceUrl.hostname) ? undefined : proxies,
    onExchange,
    lookup: guardedLookup(serviceUrl.hostname),
  });
  const connection: GeneratorConnection = {
    identity: { baseUrl: spec.name, keyId: GENERATOR_KEY_ID },
    provider,
    downloads,
    serviceUrl,
    maskKey: keyMasker(options.key ?? ""),
    generator: {
      name: spec.name,
      workFor: (request) => workFor(request, options),
      package: options.package,
      line: lineOf(spec, options, session),
    },
  };
  return { connection, close: async () => void (await Promise.all([provider.close(), downloads.close()])) };
}

/** The line before one server or command, over all processes of this state folder. */
function lineOf(
  spec: GeneratorSpec,
  { concurrency, timeoutMs }: GeneratorOptions,
  { folders, context }: ClientSession,
): Line {
  const digest = createHash("sha256").update(placeOf(spec)).digest("hex").slice(0, 16);
  const limits = { concurrency, forMs: timeoutMs + TURN_MARGIN_MS };
  return new Line(path.join(folders.state, "turns", digest), limits, context);
}

/** What a new task is worth as the generator is set up now, and what makes its images. */
export function workFor(request: GenerationRequest, options: GeneratorOptions): Work {
  const { ratio, quality, model, maxImages = 1 } = request;
  const { isPaid, timeoutMs, sidePx, sizeForm, fields, package: made } = options;
  return {
    taskId: newTaskId(),
    isPaid,
    requests: maxImages,
    requestMs: Math.min(timeoutMs, LONGEST_REQUEST_MS),
    options: {
      model: model === ANY_MODEL ? null : model,
      ...pictureDimensions(ratio, quality, sidePx),
      sizeForm,
      fields,
      ...(made !== undefined && { package: made }),
    },
  };
}
