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

/** A client's request. */
export interface ClientRequest {
  input: RequestInput;
  /** Its size in pixels, if it names one. */
  size?: Pick<JobOptions, "width" | "height">;
  /** `file:` URLs of this server's private copies of reference images that came with the request. */
  copies?: readonly string[];
  /** Names of the fields in the client's API, if they are not those of the document. */
  labels?: Partial<Labels>;
}

/** Maximum number of a generator's own fields in a request: each may be checked apart. */
const MAX_FIELDS = 64;

/** Name of the first field above the maximum; undefined if there is none. */
export function surplusField({ fields = {} }: RequestInput): string | undefined {
  return Object.keys(fields)[MAX_FIELDS];
}

export const TOO_MANY_FIELDS = `At most ${MAX_FIELDS} fields of the generator can be given.`;

/** Checks a request by the matrix's rules alone: the generator itself refuses anything else. @throws InvalidRequestError */
export function checkClientRequest(
  { input, labels }: ClientRequest,
  { matrix, isFree, fieldTerms }: Service,
): CheckedRequest {
  const generator = { isFree, defaultModel: ANY_MODEL, models: null, ...fieldTerms };
  return checkRequest(input, matrix, { validate: false, labels: { ...FIELD_LABELS, ...labels }, generator });
}

/** The intent of a request that its provider supports. @throws InvalidRequestError */
export function intentFor(
  clientRequest: ClientRequest,
  service: Service,
  { taskId }: Pick<Call, "taskId">,
): Intent {
  const { connection, folder, name: server, isFree } = service;
  const { request, credits } = checkClientRequest(clientRequest, service);
  const defaults = connection.termsFor(request);
  const terms = { ...defaults, taskId, options: { ...defaults.options, ...clientRequest.size } };
  const folderPath = path.join(folder, FILES, taskId);
  const destination = { kind: "file", path: folderPath, overwrite: false } as const;
  // A workflow can cost money at a generator that is free; the amount is unknown.
  const price = isFree && terms.isPaid ? null : credits;
  const job = { request, ...terms, references: toReferences(request) };
  const unsupported = unsupportedPart(job, connection.provider);
  if (unsupported !== null) throw new InvalidRequestError(unsupported);
  return { request, service: connection.identity, credits: price, destination, ...terms, server };
}

/** The folder of the images within that of a server. */
export const FILES = "files";

/** Fields that may be at fault, in the order in which they are tried. A request without its model has another one. */
const FAULT_ORDER = ["seed", "negative", "ratio", "quality", "image", "maxImages", "model"] as const;

/**
 * The field that is at fault, as the client names it: the first without which a request is not refused, or for another reason.
 * @param why of the refusal @returns null if it is not one field
 */
export function fieldAtFault(why: string, clientRequest: ClientRequest, service: Service): string | null {
  const { input, labels } = clientRequest;
  const isCause = (rest: RequestInput) => problemWith({ ...clientRequest, input: rest }, service) !== why;
  const { fields = {} } = input;
  for (const name of Object.keys(fields)) {
    const { [name]: _, ...others } = fields;
    if (isCause({ ...input, fields: others })) return name;
  }
  const isPresent = (name: FieldName) => input[name] !== undefined;
  const field = FAULT_ORDER.filter(isPresent).find((name) => isCause({ ...input, [name]: undefined }));
  return field === undefined ? null : (labels?.[field] ?? field);
}

function problemWith(clientRequest: ClientRequest, service: Service): string | null {
  try {
    intentFor(clientRequest, service, { taskId: "" });
    return null;
  } catch (error) {
    if (error instanceof InvalidRequestError) return error.message;
    throw error;
  }
}
