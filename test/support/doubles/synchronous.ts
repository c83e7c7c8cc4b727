import { PICTURE } from "../images.ts";
import { json } from "../scripted-server.ts";
import type { ServiceForm } from "./double.ts";

const DATA = PICTURE.toString("base64");
const partOf: ServiceForm["partOf"] = ({ method }) => (method === "POST" ? "submit" : "models");

/** An OpenAI-compatible server. */
export const OPENAI: ServiceForm = {
  kind: "openai",
  basePath: "/v1",
  model: "flux",
  header: ["authorization", (key) => `Bearer ${key}`],
  partOf,
  replies: {
    submit: () => json({ created: 1, data: [{ b64_json: DATA }] }),
    models: () => json({ data: [{ id: "flux" }] }),
  },
  error: (status, words, headers) => json({ error: { message: words, code: "no" } }, status, headers),
};

/** A server of AUTOMATIC1111's form. */
export const SDAPI: ServiceForm = {
  kind: "sdapi",
  basePath: "",
  model: "sd_xl",
  header: ["authorization", (key) => `Bearer ${key}`],
  partOf,
  replies: {
    submit: () => json({ images: [DATA], info: "{}" }),
    models: () => json([{ model_name: "sd_xl" }]),
  },
  error: (status, words, headers) => json({ detail: words }, status, headers),
};
