import { proxiesFromEnvironment } from "../api/proxies.ts";
import { ImggenError } from "../lib/error-types.ts";
import { jsonOrNull } from "../lib/json.ts";
import type { LocalSearch } from "../providers/kind.ts";
import {
  getDefaultModel,
  isPaidByDefault,
  isServerKind,
  KINDS,
  type ServerKindName,
  type ServerSpec,
} from "../providers/kinds.ts";
import { ProviderError } from "../providers/provider.ts";
import { ProviderServer } from "../providers/provider-http.ts";
import { parseGeneratorSpec } from "../providers/spec.ts";
import { defaultOptions } from "./generator-settings.ts";
import { fetchOfferedModels, type QuerySession } from "./targets/open-generator.ts";
import type { OfferedModels } from "./targets/target.ts";

export interface FoundGenerator {
  generator: string;
  model: string | null;
  needsModel: boolean;
  paid: boolean;
}

export interface FoundServer extends FoundGenerator {
  port: number;
  models: string[];
}

export interface LockedServer {
  /** Value for `--generator`: OpenAI's kind, unless the server's replies identify another kind. */
  generator: string;
  port: number;
}

export interface FoundService extends FoundGenerator {
  variable: string;
}

const ANSWER_TIMEOUT_MS = 1_000;
const MAX_MODELS = 100;
const MAX_NAME_LENGTH = 200;

/** If several kinds match, the last is used, because its API has more features than OpenAI's. */
const LOCAL_KINDS = (["openai", "sdapi", "comfyui"] as const).flatMap((name) => {
  const local: LocalSearch | undefined = KINDS[name].local;
  return local === undefined ? [] : [{ name, local }];
});

export const LOCAL_PORTS: readonly number[] = [
  ...new Set(LOCAL_KINDS.flatMap(({ local }) => local.ports)),
].sort((a, b) => a - b);

/** Queries ports of this machine without a key. Ignores invalid replies. @throws the signal's reason */
export async function findServers(
  ports: readonly number[],
  signal: AbortSignal,
  session: QuerySession,
): Promise<{ servers: FoundServer[]; locked: LockedServer[] }> {
  const results = await Promise.all(ports.map((port) => findServer(port, signal, session)));
  signal.throwIfAborted();
  const servers = results.filter((server) => server !== null);
  return {
    servers: servers.filter((server) => "models" in server),
    locked: servers.filter((server) => !("models" in server)),
  };
}

async function findServer(
  port: number,
  signal: AbortSignal,
  session: QuerySession,
): Promise<FoundServer | LockedServer | null> {
  const replies = await queryAllKinds((name) => `${name}:http://localhost:${port}`, signal, session);
  const spec = replies.findLast(({ reply }) => reply === "own")?.spec;
  if (!spec) {
    const [locked, ...others] = replies.filter(({ reply }) => reply === "locked");
    // OpenAI's kind is preferred, because most servers are of that kind, and a server might reply 401 to every path.
    return locked
      ? { generator: (others.length === 0 ? locked : (replies[0] ?? locked)).spec.name, port }
      : null;
  }
  const { names, loaded, needsName } = await readModels(spec, session);
  const models = (names ?? []).filter((name) => name.length <= MAX_NAME_LENGTH).slice(0, MAX_MODELS);
  const hasSeveralModels = models.length > 1;
  const needsModel = hasSeveralModels && needsName;
  const model = loaded ?? (hasSeveralModels && !needsName ? null : (models[0] ?? null));
  return { generator: spec.name, port, model, needsModel, models, paid: isPaidByDefault(spec) };
}

/** Returns the generator of another kind at a server's address, or null. Sends no key, and never throws. */
export async function findOtherKind(
  { kind, url }: ServerSpec,
  signal: AbortSignal,
  session: QuerySession,
): Promise<string | null> {
  // Other kinds are queried at the origin, because each kind has a different base path.
  const { origin } = new URL(url);
  const replies = await queryAllKinds((name) => `${name}:${name === kind ? url : origin}`, signal, session);
  const matchingSpecs = replies.filter(({ reply }) => reply === "own").map(({ spec }) => spec);
  return matchingSpecs.some((spec) => spec.kind === kind) ? null : (matchingSpecs.at(-1)?.name ?? null);
}

/** Sends each kind's query to a server. Never throws. */
function queryAllKinds(
  generator: (kind: ServerKindName) => string,
  signal: AbortSignal,
  session: QuerySession,
): Promise<{ spec: ServerSpec; reply: KindReply }[]> {
  return Promise.all(
    LOCAL_KINDS.map(async ({ name, local }) => {
      const spec = parseGeneratorSpec(generator(name), "The address") as ServerSpec;
      return { spec, reply: await queryAsKind(spec, local, signal, session) };
    }),
  );
}

/** `own`: the reply matches the kind. `locked`: the server requires a key. `other`: anything else. */
type KindReply = "own" | "locked" | "other";

async function queryAsKind(
  { url }: ServerSpec,
  { path, isMatch }: LocalSearch,
  signal: AbortSignal,
  { context: { env, clock }, onExchange }: QuerySession,
): Promise<KindReply> {
  const serverOptions = { url, keyHeaders: {}, options: { headers: {}, key: null } };
  const server = new ProviderServer(serverOptions, {
    env,
    clock,
    onExchange,
    proxies: proxiesFromEnvironment(env),
  });
  try {
    const signalWithTimeout = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]);
    const { status, body } = await server.get(path, signalWithTimeout);
    if (status === 401) return "locked";
    return status === 200 && isMatch(jsonOrNull(body)) ? "own" : "other";
  } catch {
    return "other";
  } finally {
    await server.close();
  }
}

const NO_MODELS: OfferedModels = { names: null, loaded: null, needsName: false };

async function readModels(spec: ServerSpec, session: QuerySession): Promise<OfferedModels> {
  try {
    return await fetchOfferedModels({ spec, options: defaultOptions(spec) }, session, ANSWER_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof ImggenError || error instanceof ProviderError) return NO_MODELS;
    throw error;
  }
}

/** Finds services whose key is set in an environment variable. Sends nothing. */
export function findServices({ context: { env } }: Pick<QuerySession, "context">): FoundService[] {
  return Object.entries(KINDS).flatMap(([name, { keyVariables, url, needsModel, firstModel = null }]) => {
    const variable = keyVariables.find((each) => env[each]);
    if (variable === undefined || url === null || !isServerKind(name)) return [];
    const spec: ServerSpec = { kind: name, name, url };
    const model = getDefaultModel(spec) ?? firstModel;
    return [{ generator: name, variable, model, needsModel, paid: isPaidByDefault(spec) }];
  });
}
