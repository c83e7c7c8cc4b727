import { json } from "../scripted-server.ts";
import { fileAt, type ServiceForm } from "./double.ts";

const prediction = (origin: string, number: number, state: object) => {
  const get = `${origin}/v1/predictions/pred-${number}`;
  return json({ id: `pred-${number}`, urls: { get, cancel: `${get}/cancel` }, ...state }, 201);
};

/** The schema of a model, as `GET /models/{owner}/{name}` has it. */
export const FLUX_INPUTS = {
  prompt: { type: "string" },
  seed: { type: "integer" },
  num_outputs: { type: "integer" },
  aspect_ratio: { allOf: [{ $ref: "#/components/schemas/aspect_ratio" }], default: "1:1" },
};

export function modelReply(properties: object): Buffer {
  const schemas = {
    Input: { type: "object", properties },
    aspect_ratio: { enum: ["1:1", "16:9", "3:2"], type: "string" },
  };
  return json({ name: "flux-schnell", latest_version: { openapi_schema: { components: { schemas } } } });
}

export const REPLICATE: ServiceForm = {
  kind: "replicate",
  basePath: "/v1",
  model: "black-forest-labs/flux-schnell",
  header: ["authorization", (key) => `Bearer ${key}`],
  partOf({ method, target }) {
    if (method === "POST") return target.endsWith("/cancel") ? "cancel" : "submit";
    if (target.startsWith("/v1/predictions/")) return "poll";
    return target.startsWith("/v1/models/") ? "model" : "file";
  },
  replies: {
    submit: (origin, number) => prediction(origin, number, { status: "starting" }),
    poll: (origin, number) =>
      prediction(origin, number, {
        status: "succeeded",
        output: [fileAt(origin, number)],
        metrics: { predict_time: 1.5 },
      }),
    cancel: (origin, number) => prediction(origin, number, { status: "canceled" }),
    model: () => modelReply(FLUX_INPUTS),
  },
  error: (status, words, headers) => json({ title: "No", detail: words, status }, status, headers),
  ends: {
    running: { poll: (origin, number) => prediction(origin, number, { status: "processing" }) },
    failed: {
      poll: (origin, number) => prediction(origin, number, { status: "failed", error: "out of memory" }),
    },
    moderated: {
      poll: (origin, number) =>
        prediction(origin, number, { status: "failed", error: "NSFW content detected." }),
    },
    forgotten: { poll: () => json({ detail: "The requested resource could not be found." }, 404) },
  },
};
