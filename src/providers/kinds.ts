import { isPrivateHost } from "../api/address.ts";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { type Columns, type Matrix, model } from "../models/matrix.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { GeneratorOptions, ProviderDeps } from "./kind.ts";
import { basicOrBearerHeaders, LOCAL_DEFAULTS, SERVICE_DEFAULTS, type ServerKind } from "./kind.ts";
import { fieldNamesAt, modelsAt } from "./openai/server-forms.ts";
import type { Provider } from "./provider.ts";

/** Names of the placeholders for a seed and a negative prompt in the user's workflow or command line. */
const PLACEHOLDER_NAMES: FieldNames = { seed: "seed", negative: "negative" };

/** Prompts have no limit here, because Gemini itself checks their length. */
const GEMINI_ANY: Columns = { promptLimit: null };
const GEMINI_SIZES: Columns = { ...GEMINI_ANY, qualities: ["1K", "2K", "4K"] };

/** Known models of Gemini, without prices, because only the user knows the prices. */
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
    // The key is for a proxy in front of ComfyUI, because ComfyUI has no login.
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
    // The service accepts at most 24 queued and running jobs, and replies to another request with 429.
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

function hasList(json: unknown, name: string): boolean {
  return Array.isArray(json) && json.every((each) => typeof fieldsOf(each)[name] === "string");
}

export type ServerKindName = keyof typeof TABLE;

export const KINDS: Readonly<Record<ServerKindName, ServerKind>> = TABLE;

export const KEY_VARIABLES: readonly string[] = Object.values(KINDS).flatMap(
  ({ keyVariables }) => keyVariables,
);

export function isServerKind(name: string): name is ServerKindName {
  return Object.hasOwn(KINDS, name);
}

/** A generator as the user wrote it in `--generator`. A package is not loaded yet. */
export type ParsedSpec = ServerSpec | CommandSpec | PackageName;

/** A generator that `openProvider` accepts, after a package is loaded. */
export type GeneratorSpec = ServerSpec | CommandSpec | PackageSpec;

export interface ServerSpec {
  kind: ServerKindName;
  /** Canonical spelling of `--generator`, without a query. It identifies the generator in the ledger. */
  name: string;
  /** Base URL with its query, and without a slash at the end. A URL without a path has the default path of its kind. */
  url: string;
}

interface CommandSpec {
  kind: "command";
  /** `command:` and the command line as the user wrote it. */
  name: string;
  /** The program and its arguments, with placeholders. */
  words: readonly string[];
}

export interface PackageName {
  kind: "npm";
  name: string;
  package: string;
  /** Address of the server; null for the package's default address. */
  url: string | null;
}

export interface PackageSpec extends PackageName {
  url: string;
  /** `name@version` */
  version: string;
  server: ServerKind;
}

/** Returns null for a command. */
export function getServerKind(spec: GeneratorSpec): ServerKind | null {
  return spec.kind === "command" ? null : findServerKind(spec);
}

function findServerKind(spec: ServerSpec | PackageSpec): ServerKind {
  return spec.kind === "npm" ? spec.server : KINDS[spec.kind];
}

/** Sends and runs nothing. Imports only the code of this provider. */
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

/** If the kind does not define `isPaid`, servers outside private networks are paid. Commands are free. */
export function isPaidByDefault(spec: GeneratorSpec): boolean {
  if (spec.kind === "command") return false;
  return getServerKind(spec)?.isPaid ?? !isPrivateHost(new URL(spec.url).hostname);
}

/** Returns null at another address, where no key is required and the kind's environment variables are not used. */
export function kindAtDefaultUrl(spec: GeneratorSpec): ServerKind | null {
  const kind = getServerKind(spec);
  if (kind === null || spec.kind === "command" || kind.url === null || kind.keyVariables.length === 0)
    return null;
  return new URL(spec.url).origin === new URL(kind.url).origin ? kind : null;
}

export function getFieldNames(spec: GeneratorSpec): FieldNames {
  return spec.kind === "command" ? PLACEHOLDER_NAMES : (getServerKind(spec)?.fieldNamesAt(spec) ?? {});
}

/** `usual` is the default, `max` the maximum that the user can set. */
export function getConcurrency(spec: GeneratorSpec): { usual: number; max: number } {
  const { concurrency: usual, maxConcurrency: max } = getServerKind(spec) ?? LOCAL_DEFAULTS;
  return { usual, max };
}

export function needsModel(spec: GeneratorSpec): boolean {
  return getServerKind(spec)?.needsModel ?? false;
}

/** The generator can have other models too. */
export function knownModels(spec: ParsedSpec): Matrix {
  return kindModels(spec)?.matrix ?? [];
}

/** Returns the model of a request without a model; null if unknown. */
export function getDefaultModel(spec: ParsedSpec): string | null {
  return kindModels(spec)?.default ?? null;
}

function kindModels(spec: ParsedSpec) {
  return spec.kind === "command" || spec.kind === "npm" ? null : KINDS[spec.kind].modelsAt(spec);
}
