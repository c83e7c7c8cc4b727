import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import { fieldsOf, isJsonObject, isTexts, jsonOrNull } from "../../lib/json.ts";
import { replaceUnsynced } from "../../lib/write-whole.ts";
import type { ProviderDeps } from "../kind.ts";
import type { ProviderServer } from "../provider-http.ts";
import type { ReferenceDeps } from "../reference-files.ts";
import { isSuccess } from "../stored-reply.ts";

export interface ModelInput {
  /** The supported values if the input is a choice, otherwise null. */
  values: readonly string[] | null;
  isList: boolean;
  /** Whether the input is the URL of a file. */
  isUrl: boolean;
}

/** Inputs of a model by name, or null if the model's schema could not be read. */
export type ModelInputs = ReadonlyMap<string, ModelInput> | null;

const CACHE_MS = 24 * 3_600_000;
/** Version of the form of cache files. Files of other versions are ignored. */
const CACHE_FORM = 2;
const MAX_INPUTS = 200;

/** Returns a model's inputs from the cache, or from the server if the cache is older than a day. Never throws. */
export async function modelInputs(
  model: string,
  server: ProviderServer,
  deps: Pick<ProviderDeps, "clock" | "cacheFolder"> & Pick<ReferenceDeps, "signal" | "isShown">,
): Promise<ModelInputs> {
  const file = cacheFile(model, server, deps);
  const cached = file === null ? null : await readCache(file, deps.clock.now());
  if (cached || deps.isShown) return cached;
  const inputs = await requestInputs(model, server, deps.signal).catch(() => null);
  if (inputs !== null && file !== null) await writeCache(file, inputs, deps.clock.now());
  return inputs;
}

function cacheFile(
  model: string,
  { address }: ProviderServer,
  { cacheFolder }: Pick<ProviderDeps, "cacheFolder">,
): string | null {
  const digest = createHash("sha256").update(`${CACHE_FORM} ${address} ${model}`).digest("hex").slice(0, 16);
  return cacheFolder === undefined ? null : path.join(cacheFolder, `${digest}.json`);
}

async function readCache(file: string, nowMs: number): Promise<ModelInputs> {
  const { at, inputs } = fieldsOf(jsonOrNull(await readFile(file, "utf8").catch(() => "")));
  const isFresh = typeof at === "number" && at <= nowMs && nowMs - at < CACHE_MS;
  return isFresh && isJsonObject(inputs) ? toInputMap(inputs, (input) => input as Partial<ModelInput>) : null;
}

async function writeCache(file: string, inputs: NonNullable<ModelInputs>, at: number): Promise<void> {
  try {
    await makeFolder(path.dirname(file), 0o700);
    replaceUnsynced(file, JSON.stringify({ at, inputs: Object.fromEntries(inputs) }), 0o600);
  } catch {
    // A failed write is ignored, because the inputs can be requested again.
  }
}

async function requestInputs(
  model: string,
  server: ProviderServer,
  signal: AbortSignal,
): Promise<ModelInputs> {
  const [name = "", version] = model.split(":");
  const modelPath = version === undefined ? `/models/${name}` : `/models/${name}/versions/${version}`;
  const reply = await server.get(modelPath, signal);
  if (!isSuccess(reply)) return null;
  const description = fieldsOf(jsonOrNull(reply.body));
  const { openapi_schema: schema } =
    version === undefined ? fieldsOf(description.latest_version) : description;
  const schemas = fieldsOf(fieldsOf(fieldsOf(schema).components).schemas);
  const { properties } = fieldsOf(schemas.Input);
  return isJsonObject(properties) ? toInputMap(properties, (input) => readInput(input, schemas)) : null;
}

/** Reads the schema of an input. If the input is a choice, its values can be in a separate schema. */
function readInput(schema: Record<string, unknown>, schemas: Record<string, unknown>): Partial<ModelInput> {
  const { $ref: directRef, allOf, enum: values, type, format, items } = schema;
  const parts = [directRef, ...[allOf].flat().map((part) => fieldsOf(part).$ref)];
  const references = parts.map((ref) => fieldsOf(schemas[String(ref).split("/").at(-1) ?? ""]).enum);
  const isUrl = format === "uri" || fieldsOf(items).format === "uri";
  return { values: [values, ...references].find(isTexts) ?? null, isList: type === "array", isUrl };
}

function toInputMap(
  inputs: Record<string, unknown>,
  read: (input: Record<string, unknown>) => Partial<ModelInput>,
): ModelInputs {
  const entries = Object.entries(inputs).slice(0, MAX_INPUTS);
  return new Map(
    entries.map(([name, input]) => {
      const { values, isList, isUrl } = read(fieldsOf(input));
      const texts = isTexts(values) ? values : null;
      return [name, { values: texts, isList: isList === true, isUrl: isUrl === true }];
    }),
  );
}
