import path from "node:path";
import { toReferences, unsupportedPart } from "../core/engine/jobs.ts";
import { checkRequest } from "../models/check-request.ts";
import { InvalidRequestError } from "../models/invalid-request.ts";
import { FIELD_LABELS, type Labels } from "../models/rules/rule.ts";
import type { Intent, JobOptions } from "../task/intent.ts";
import { ANY_MODEL, type CheckedRequest, type RequestInput } from "../task/request.ts";
import type { FieldName } from "../task/request-fields.ts";
import type { Call } from "./call-records.ts";
import type { Service } from "./serve-options.ts";

export interface ClientRequest {
  input: RequestInput;
  size?: Pick<JobOptions, "width" | "height">;
  /** `file:` URLs of this server's copies of uploaded reference images. */
  copies?: readonly string[];
  /** Names of fields in the client's API, if they differ from the names in the service's document. */
  labels?: Partial<Labels>;
}

/** The number of fields is limited, because the search for an invalid field checks the request once for each field. */
const MAX_FIELDS = 64;

export function findSurplusField({ fields = {} }: RequestInput): string | undefined {
  return Object.keys(fields)[MAX_FIELDS];
}

export const TOO_MANY_FIELDS = `At most ${MAX_FIELDS} fields of the generator are supported.`;

/** Checks only the rules of the matrix, because the generator checks the rest. @throws InvalidRequestError */
export function checkClientRequest(
  { input, labels }: ClientRequest,
  { matrix, isFree, fieldTerms }: Service,
): CheckedRequest {
  const generator = { isFree, defaultModel: ANY_MODEL, models: null, ...fieldTerms };
  return checkRequest(input, matrix, { validate: false, labels: { ...FIELD_LABELS, ...labels }, generator });
}

/** @throws InvalidRequestError if the provider does not support the request */
export function createIntent(
  clientRequest: ClientRequest,
  service: Service,
  { taskId }: Pick<Call, "taskId">,
): Intent {
  const { connection, folder, name: server, isFree } = service;
  const { request, credits } = checkClientRequest(clientRequest, service);
  const defaults = connection.termsFor(request);
  const terms = { ...defaults, taskId, options: { ...defaults.options, ...clientRequest.size } };
  const folderPath = path.join(folder, FILES_FOLDER, taskId);
  const destination = { kind: "file", path: folderPath, overwrite: false } as const;
  const price = isFree && terms.isPaid ? null : credits;
  const job = { request, ...terms, references: toReferences(request) };
  const unsupported = unsupportedPart(job, connection.provider);
  if (unsupported !== null) throw new InvalidRequestError(unsupported);
  return { request, service: connection.identity, credits: price, destination, ...terms, server };
}

export const FILES_FOLDER = "files";

/** Fields in the order of their checks. The model is last, because its removal causes another error. */
const CHECK_ORDER = ["seed", "negative", "ratio", "quality", "image", "maxImages", "model"] as const;

/** Returns the first field (its name in the client's API) whose removal changes the message `refusal`, or null. */
export function findInvalidField(
  refusal: string,
  clientRequest: ClientRequest,
  service: Service,
): string | null {
  const { input, labels } = clientRequest;
  const isCause = (reduced: RequestInput) =>
    describeProblem({ ...clientRequest, input: reduced }, service) !== refusal;
  const { fields = {} } = input;
  for (const name of Object.keys(fields)) {
    const { [name]: _, ...others } = fields;
    if (isCause({ ...input, fields: others })) return name;
  }
  const isPresent = (name: FieldName) => input[name] !== undefined;
  const field = CHECK_ORDER.filter(isPresent).find((name) => isCause({ ...input, [name]: undefined }));
  return field === undefined ? null : (labels?.[field] ?? field);
}

function describeProblem(clientRequest: ClientRequest, service: Service): string | null {
  try {
    createIntent(clientRequest, service, { taskId: "" });
    return null;
  } catch (error) {
    if (error instanceof InvalidRequestError) return error.message;
    throw error;
  }
}
