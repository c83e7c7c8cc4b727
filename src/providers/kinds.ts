import { isPrivateHost } from "../api/address.ts";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { type Columns, type Matrix, model } from "../models/matrix.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { GeneratorOptions, ProviderDeps } from "./kind.ts";
import { basicOrBearerHeaders, LOCAL_DEFAULTS, SERVICE_DEFAULTS, type ServerKind } from "./kind.ts";
import { fieldNamesAt, modelsAt } from "./openai/server-forms.ts";
import type { Provider } from "./provider.ts";

/** Names of placeholders in the user's workflow or command line. */
const PLACEHOLDER_NAMES: FieldNames = { seed: "seed", negative: "negative" };

/** Gemini checks the length of prompts itself. */
const GEMINI_ANY: Columns = { promptLimit: null };
const GEMINI_SIZES: Columns = { ...GEMINI_ANY, qualities: ["1K", "2K", "4K"] };

/** Gemini's models by name; it may have others. They have no prices, because only the user knows them. */
const GEMINI_MATRIX: Matrix = [
  model("gemini-3-pro-image", GEMINI_SIZES),
  model("gemini-3.1-flash-image", GEMINI_SIZES),
  model("gemini-2.5-flash-image", GEMINI_ANY, { qualities: [] }),
];

const TABLE = {
  openai: {
    ...LOCAL_DEFAULTS,
    title: "OpenAI",
    url: "https://api.openai.com/v1",
    basePath: "/v1",
    keyVariables: ["OPENAI_API_KEY"],
    modelsAt,
    local: {
      ports: [1234, 8080, 11434, 8000],
      path: "/models",
      isMatch: (json) => hasList(fieldsOf(json).data, "id"),
    },
    fieldNamesAt,
    open: async (setup, deps) => (await import("./openai/openai-provider.ts")).openAiProvider(setup, deps),
  },
  sdapi: {
    ...LOCAL_DEFAULTS,
    title: "sdapi",
    keyHeaders: basicOrBearerHeaders,
    local: {
      ports: [7860, 1234],
      path: "/sdapi/v1/sd-models",
      isMatch: (json) => hasList(json, "model_name") || hasList(json, "title"),
    },
    open: async (setup, deps) => (await import("./sdapi.ts")).sdapiProvider(setup, deps),
  },
  comfyui: {
    ...LOCAL_DEFAULTS,
    title: "ComfyUI",
    // ComfyUI has no login, but a proxy in front of it may have one.
    keyHeaders: basicOrBearerHeaders,
    local: {
      ports: [8188, 8000],
      path: "/system_stats",
      isMatch: (json) => isJsonObject(fieldsOf(json).system) && Array.isArray(fieldsOf(json).devices),
    },
    fieldNamesAt: () => PLACEHOLDER_NAMES,
    open: async (setup, deps) => (await import("./comfyui/comfyui-provider.ts")).comfyUiProvider(setup, deps),
  },
  replicate: {
    ...SERVICE_DEFAULTS,
    title: "Replicate",
    url: "https://api.replicate.com/v1",
    basePath: "/v1",
    keyVariables: ["REPLICATE_API_TOKEN"],
    firstModel: "black-forest-labs/flux-schnell",
    open: async (setup, deps) => (await import("./replicate/replicate.ts")).replicateProvider(setup, deps),
  },
  fal: {
    ...SERVICE_DEFAULTS,
    title: "fal",
    url: "https://queue.fal.run",
    keyVariables: ["FAL_KEY"],
    firstModel: "fal-ai/flux/dev",
    keyHeaders: (key) => ({ authorization: `Key ${key}` }),
    open: async (setup, deps) => (await import("./fal.ts")).falProvider(setup, deps),
  },
  bfl: {
    ...SERVICE_DEFAULTS,
    title: "Black Forest Labs",
    url: "https://api.bfl.ai/v1",
    basePath: "/v1",
    keyVariables: ["BFL_API_KEY"],
    firstModel: "flux-2-pro",
    keyHeaders: (key) => ({ "x-key": key }),
    // The service accepts this number of queued and running jobs, and returns 429 for more.
    maxConcurrency: 24,
    fieldNamesAt: () => ({ seed: "seed" }),
    open: async (setup, deps) => (await import("./bfl.ts")).bflProvider(setup, deps),
  },
  gemini: {
    ...SERVICE_DEFAULTS,
    title: "Gemini",
    url: "https://generativelanguage.googleapis.com/v1beta",
    basePath: "/v1beta",
    keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    firstModel: "gemini-3-pro-image",
    keyHeaders: (key) => ({ "x-goog-api-key": key }),
    modelsAt: () => ({ matrix: GEMINI_MATRIX, default: null }),
    fieldNamesAt: () => ({}),
    open: async (setup, deps) => (await import("./gemini.ts")).geminiProvider(setup, deps),
  },
} as const satisfies Record<string, ServerKind>;

/** Whether a reply is a list of objects, each with a string in this field. */
function hasList(json: unknown, name: string): boolean {
  return Array.isArray(json) && json.every((each) => typeof fieldsOf(each)[name] === "string");
}

export type ServerKindName = keyof typeof TABLE;

/** Every kind of server. */
export const KINDS: Readonly<Record<ServerKindName, ServerKind>> = TABLE;

/** The variables that hold the services' keys. */
export const KEY_VARIABLES: readonly string[] = Object.values(KINDS).flatMap(
  ({ keyVariables }) => keyVariables,
);

export function isServerKind(name: string): name is ServerKindName {
  return Object.hasOwn(KINDS, name);
}

/** A parsed generator spec. A package has only a name. */
export type ParsedSpec = ServerSpec | CommandSpec | PackageName;

/** A generator's kind and address. */
export type GeneratorSpec = ServerSpec | CommandSpec | PackageSpec;

export interface ServerSpec {
  kind: ServerKindName;
  /** The spec in its canonical spelling, without a user name, password or query. It identifies the generator in the ledger. */
  name: string;
  /** Base URL with the default path of its kind if the URL has none, without a slash at the end. A query is kept. */
  url: string;
}

interface CommandSpec {
  kind: "command";
  /** The command line as the user wrote it. */
  name: string;
  /** The program and its arguments, with placeholders. */
  words: readonly string[];
}

export interface PackageName {
  kind: "npm";
  name: string;
  package: string;
  /** null for the package's default. */
  url: string | null;
}

/** A package that is installed for imggen. */
export interface PackageSpec extends PackageName {
  url: string;
  /** `name@version` */
  version: string;
  server: ServerKind;
}

/** A generator's kind of server; null for a command. */
export function getServerKind(spec: GeneratorSpec): ServerKind | null {
  return spec.kind === "command" ? null : findServerKind(spec);
}

function findServerKind(spec: ServerSpec | PackageSpec): ServerKind {
  return spec.kind === "npm" ? spec.server : KINDS[spec.kind];
}

/** Loads the code of a generator and creates it, without sending or running anything. Commands without a generator do not load it. */
export async function openProvider(
  spec: GeneratorSpec,
  options: GeneratorOptions,
  deps: ProviderDeps,
): Promise<Provider> {
  if (spec.kind === "command") {
    const { commandProvider } = await import("./command/command-provider.ts");
    const keyVariables = [...KEY_VARIABLES, ...(deps.packageKeys ?? [])];
    return commandProvider(spec.words, { ...options, keyVariables }, deps);
  }
  const kind = findServerKind(spec);
  const keyHeaders = options.key === null ? {} : kind.keyHeaders(options.key);
  return kind.open({ url: spec.url, keyHeaders, options }, deps);
}

/** Whether images are paid by default: true except for commands and servers in private networks. */
export function isPaidByDefault(spec: GeneratorSpec): boolean {
  if (spec.kind === "command") return false;
  return getServerKind(spec)?.isPaid ?? !isPrivateHost(new URL(spec.url).hostname);
}

/**
 * Kind of a server at the default address of its kind, where a key is required and the kind's variables apply. Null for any
 * other address.
 */
export function kindAtDefaultUrl(spec: GeneratorSpec): ServerKind | null {
  const kind = getServerKind(spec);
  if (kind === null || spec.kind === "command" || kind.url === null || kind.keyVariables.length === 0)
    return null;
  return new URL(spec.url).origin === new URL(kind.url).origin ? kind : null;
}

/** The names of a generator's fields for a seed and a negative prompt. */
export function getFieldNames(spec: GeneratorSpec): FieldNames {
  return spec.kind === "command" ? PLACEHOLDER_NAMES : (getServerKind(spec)?.fieldNamesAt(spec) ?? {});
}

/** Number of concurrent requests: `usual` is the default, `max` the maximum that the user can set. */
export function getConcurrency(spec: GeneratorSpec): { usual: number; max: number } {
  const { concurrency: usual, maxConcurrency: max } = getServerKind(spec) ?? LOCAL_DEFAULTS;
  return { usual, max };
}

/** Whether every request to a generator must name a model. */
export function needsModel(spec: GeneratorSpec): boolean {
  return getServerKind(spec)?.needsModel ?? false;
}

/** The models that a generator is known to have; it may have others. */
export function knownModels(spec: ParsedSpec): Matrix {
  return kindModels(spec)?.matrix ?? [];
}

/** Model of requests without a model; null if it is unknown. */
export function getDefaultModel(spec: ParsedSpec): string | null {
  return kindModels(spec)?.default ?? null;
}

function kindModels(spec: ParsedSpec) {
  return spec.kind === "command" || spec.kind === "npm" ? null : KINDS[spec.kind].modelsAt(spec);
}
