import type { ServiceRequest } from "../server/http.ts";
import { invalidRequest, refusal, type ServerReply, success, unknownError } from "../server/reply.ts";
import { checkBody, readJson } from "../server/request-body.ts";
import { begin, type NotBegun } from "./begin-task.ts";
import type { Service } from "./serve-options.ts";

export const IDEMPOTENCY_KEY = "idempotency-key";

/** POST /generate-image (section 4.1). A task is on disk when its id is returned. */
export async function submit(request: ServiceRequest, service: Service): Promise<ServerReply> {
  const json = await readJson(request);
  if ("refused" in json) return json.refused;
  // The matrix's rules apply to models with a row in it. The generator itself refuses anything else.
  const checked = checkBody(json.json, service.matrix, service.defaultModel ?? undefined);
  if ("refused" in checked) return checked.refused;
  const { input } = checked;
  const begun = await begin({ input }, service, request.headers[IDEMPOTENCY_KEY]);
  if ("refused" in begun) return refusalFor(begun.refused);
  const { taskId } = begun;
  return success({ taskId }, `${taskId} ${input.model ?? service.defaultModel ?? ""}`.trimEnd());
}

function refusalFor({ kind, detail }: NotBegun): ServerReply {
  switch (kind) {
    case "invalid":
    case "no such model":
      return invalidRequest(detail, { detail });
    case "other body":
      return invalidRequest(detail, { status: 422, detail });
    case "limit":
      return refusal("my_credits.no_credits_description", { detail });
    case "server":
      return unknownError(detail, { detail });
    case "damaged key":
      return unknownError(detail, { status: 500, detail });
  }
}
