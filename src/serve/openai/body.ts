import { isJsonObject, jsonOrNull } from "../../lib/json.ts";
import type { ServiceRequest } from "../../server/http.ts";
import { bytesOf } from "../../server/request-body.ts";
import { type OpenAiError, wrongRequest } from "./openai-error.ts";

/** What a request says: its fields, and the files of its reference images. */
export interface ImagesBody {
  fields: Readonly<Record<string, unknown>>;
  files: Buffer[];
}

/** OpenAI takes 16 images of 50 MB; this is room for any that a generator would take. */
const LARGEST_BODY_BYTES = 64 * 1024 * 1024;

const IMAGES = /^image(?:\[\d*\])?$/;

/** The body of a request: JSON, or a form with files. */
export async function readBody({
  headers,
  body,
}: ServiceRequest): Promise<ImagesBody | { refused: OpenAiError }> {
  const bytes = await bytesOf(body, LARGEST_BODY_BYTES);
  if (bytes === null || bytes === "too large")
    return { refused: wrongRequest("The body is larger than 64 MiB, or was cut off.") };
  const type = headers["content-type"] ?? "";
  if (/^multipart\/form-data/i.test(type)) return formBody(bytes, type);
  const fields = jsonOrNull(bytes.toString("utf8"));
  if (!isJsonObject(fields)) return { refused: wrongRequest("The body is not a JSON object.") };
  return { fields, files: [] };
}

async function formBody(bytes: Buffer, type: string): Promise<ImagesBody | { refused: OpenAiError }> {
  const content = new Uint8Array(bytes);
  const form = await new Response(content, { headers: { "content-type": type } })
    .formData()
    .catch(() => null);
  if (form === null) return { refused: wrongRequest("The body is not a whole form.") };
  const fields: Record<string, unknown> = {};
  const files: Buffer[] = [];
  for (const [name, value] of form) {
    if (typeof value === "string") fields[name] = value;
    else if (IMAGES.test(name)) files.push(Buffer.from(await value.arrayBuffer()));
    else return { refused: wrongRequest(`${name} cannot be given as a file.`, name) };
  }
  return { fields, files };
}
