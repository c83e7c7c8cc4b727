import type { ServiceRequest, Version1 } from "../../server/http.ts";
import { isSameText } from "../../server/links.ts";
import type { ServerReply } from "../../server/reply.ts";
import type { Service } from "../serve-options.ts";
import { images } from "./answer-images.ts";
import { errorReply, NO_SUCH_PATH, WRONG_KEY, wrongRequest } from "./openai-error.ts";

/** OpenAI's API below /v1: what of it makes images. */
export function openAiRoutes(service: Service): Version1 {
  return async (request, method, key) => {
    if (key === null || !isSameText(key, service.apiKey)) return errorReply(WRONG_KEY);
    const route = ROUTES[request.url.pathname];
    if (route === undefined) return errorReply(NO_SUCH_PATH);
    if (route.method !== method) return errorReply(wrongRequest(`Use ${route.method}.`, null, 405));
    return route.answer(request, service);
  };
}

interface Route {
  method: "GET" | "POST";
  answer: (request: ServiceRequest, service: Service) => Promise<ServerReply>;
}

const ROUTES: Readonly<Record<string, Route | undefined>> = {
  "/v1/images/generations": {
    method: "POST",
    answer: (request, service) => images("image_generation", request, service),
  },
  "/v1/images/edits": {
    method: "POST",
    answer: (request, service) => images("image_edit", request, service),
  },
  "/v1/models": { method: "GET", answer: async (_request, service) => models(service) },
};

function models({ modelList, defaultModel, connection }: Service): ServerReply {
  const names = modelList.names ?? (defaultModel === null ? [] : [defaultModel]);
  void modelList.lacks("");
  const { name } = connection.generator;
  const data = names.map((id) => ({ id, object: "model", created: 0, owned_by: name }));
  return { kind: "json", status: 200, body: { object: "list", data }, note: null };
}
