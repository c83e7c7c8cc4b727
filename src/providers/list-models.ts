import { listed } from "../lib/short-text.ts";
import { namesModel, readErrorBody } from "./failed-reply.ts";
import { ProviderError } from "./provider.ts";
import type { ProviderServer } from "./provider-http.ts";
import { isSuccess, type StoredReply } from "./reply-file.ts";
import { lenientJson } from "./reply-json.ts";

/** Where a server lists its models, below its base, and how the list is read. */
export interface ModelList {
  path: string;
  namesIn: (json: unknown) => string[] | null;
}

/** The names of a server's models; null where it has no list. @throws ProviderError, or the signal's reason */
export async function modelsAt(
  server: ProviderServer,
  { path, namesIn }: ModelList,
  signal: AbortSignal,
): Promise<string[] | null> {
  const reply = await server.get(path, signal);
  if (reply.status === 404 || reply.status === 405) return null;
  if (!isSuccess(reply)) throw server.failure(reply, false);
  return namesIn(lenientJson(reply.body));
}

const LONGEST_NAME = 100;

/** The error for a reply; of a refusal that may be about the model, with the models that there are. Never throws. */
export async function withModels(
  error: unknown,
  reply: StoredReply,
  server: ProviderServer,
  { path, namesIn }: ModelList,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof ProviderError) || error.failure.kind !== "invalid") return error;
  const isOfModel = namesModel(readErrorBody(String(reply.body)));
  if (reply.status !== 404 && !isOfModel) return error;
  const list = await server.get(path, signal).catch(() => null);
  if (reply.status === 404 && list?.status === 404 && !isOfModel) {
    const message = `There is no such API at ${server.address} (HTTP 404). Check --generator.`;
    const hint = "Nothing was charged. To find the servers on this machine: imggen setup";
    return new ProviderError(message, error.failure, { cause: error, hint });
  }
  const names = list && isSuccess(list) ? namesIn(lenientJson(list.body)) : null;
  if (names === null || names.length === 0) return error;
  const shown = listed(names.map((name) => name.slice(0, LONGEST_NAME)));
  const hint = `Nothing was charged. Its models: ${server.mask(shown)}`;
  return new ProviderError(error.message, error.failure, { cause: error, hint });
}
