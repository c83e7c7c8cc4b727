import { AuthRequiredError, NetworkError, ServiceError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { fetchReply, HttpClient, withMaskedUrls } from "../../api/http-client.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import { TransportError } from "../../api/transport.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import { keyMasker } from "../../lib/redact.ts";
import type { GeneratorTerms } from "../../models/check-request.ts";
import type { Matrix } from "../../models/matrix.ts";
import { submitBody } from "../../providers/service/http-service.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";
import { configuredService } from "../account.ts";
import { serverModels } from "./matrix-setting.ts";
import { ServiceTarget } from "./service-target.ts";
import type { DescribedRequest, OfferedModels, TargetSession, TermsRequest } from "./target.ts";

/** Timeout of a query, long enough for a server that loads the list of its generator's models. */
const QUERY_TIMEOUT_MS = 15_000;

interface ServerFacts {
  names: string[];
  isFree: boolean;
}

/** An `imggen serve`, identified by the prefix of the key, so that no other service receives undocumented fields. */
export class ServeTarget extends ServiceTarget {
  override readonly kind = "serve";
  readonly #session: TargetSession;

  constructor(session: TargetSession) {
    super(session);
    this.#session = session;
  }

  override async matrix(): Promise<Matrix> {
    return serverModels(this.#session);
  }

  override terms = async ({ dryRun }: TermsRequest): Promise<GeneratorTerms> => {
    // Errors are ignored, because the submit fails with a better message if the server does not reply.
    const facts = dryRun ? null : await this.#fetchFacts().catch(nullIfImggenError);
    return {
      isServer: true,
      isFree: facts?.isFree ?? false,
      isFreeByDefault: true,
      defaultModel: ANY_MODEL,
      models: facts?.names ?? null,
      fieldNames: { seed: "seed", negative: "negative" },
      defaults: {},
      savedFields: {},
    };
  };

  override models = async (timeoutMs?: number): Promise<OfferedModels> => {
    const { names } = await this.#fetchFacts(timeoutMs);
    return { names: names.length > 0 ? names : null, loaded: null, needsName: false };
  };

  override describe = async (
    requests: readonly (readonly [name: string, GenerationRequest])[],
  ): Promise<DescribedRequest> => {
    const [first] = requests;
    const body = first && submitBody(first[1], true);
    return {
      sent: body ? { method: "POST", url: "/generate-image", body } : null,
      requests: 1,
      isSizedByReference: false,
      isModelOpen: body?.model === undefined,
      seedBy: null,
    };
  };

  /** Sends GET /v1/models. @throws ImggenError */
  async #fetchFacts(timeoutMs = QUERY_TIMEOUT_MS): Promise<ServerFacts> {
    const { baseUrl, apiKey } = configuredService(this.#session.settings);
    const { context, onExchange } = this.#session;
    const url = new URL(`${baseUrl.replace(/\/api$/, "")}/v1/models`);
    const maskedExchange = withMaskedUrls(onExchange, keyMasker(apiKey));
    const http = new HttpClient({ proxies: proxiesFromEnvironment(context.env), onExchange: maskedExchange });
    const headers = { authorization: `Bearer ${apiKey}` };
    try {
      const { status, body } = await fetchReply(http, { method: "GET", url, headers, timeoutMs });
      const facts = status === 200 ? parseFacts(body) : null;
      if (facts !== null) return facts;
      if (status === 401)
        throw new AuthRequiredError(`The server at ${url.host} refused the API key.`, { hint: PASTE_HINT });
      throw new ServiceError(`The server at ${url.host} did not list its models (HTTP ${status}).`);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      const { message, hint } = describeConnectionError(error, url, "Is imggen serve running there?");
      throw new NetworkError(message, { hint, cause: error });
    } finally {
      await http.close();
    }
  }
}

const PASTE_HINT =
  "Nothing was charged. To set its address and key, paste the lines that imggen serve prints.";

function parseFacts(body: string): ServerFacts | null {
  const { data, free } = fieldsOf(jsonOrNull(body));
  if (!Array.isArray(data)) return null;
  const names = data.map((each) => fieldsOf(each).id).filter((id) => typeof id === "string");
  return { names, isFree: free === true };
}

function nullIfImggenError(error: unknown): null {
  if (error instanceof ImggenError) return null;
  throw error;
}
