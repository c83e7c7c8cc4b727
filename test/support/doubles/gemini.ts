import { PICTURE } from "../images.ts";
import { json } from "../scripted-server.ts";
import type { ServiceForm } from "./double.ts";

const DATA = PICTURE.toString("base64");

/** An answer with a thought before the result, as the models that think give it. */
export function geminiAnswer(overrides: object = {}): Buffer {
  const image = { inlineData: { mimeType: "image/png", data: DATA } };
  const thought = { thought: true, inlineData: { mimeType: "image/png", data: "bm90IHRoaXM=" } };
  const content = { role: "model", parts: [thought, image] };
  return json({
    candidates: [{ content, finishReason: "STOP" }],
    usageMetadata: { totalTokenCount: 1300 },
    ...overrides,
  });
}

/** An answer without an image. */
export function withoutImage(finishReason: string, text?: string): Buffer {
  const content = text === undefined ? {} : { content: { parts: [{ text }] } };
  return geminiAnswer({ candidates: [{ ...content, finishReason }] });
}

export const GEMINI: ServiceForm = {
  kind: "gemini",
  basePath: "/v1beta",
  model: "gemini-3-pro-image",
  header: ["x-goog-api-key", (key) => key],
  partOf: ({ method }) => (method === "POST" ? "submit" : "models"),
  replies: {
    submit: () => geminiAnswer(),
    models: () =>
      json({
        models: [
          { name: "models/gemini-3-pro-image" },
          { name: "models/gemini-2.5-flash-image" },
          { name: "models/gemini-3-pro" },
          { name: "models/embedding-001" },
        ],
      }),
  },
  error: (status, words, headers) =>
    json({ error: { code: status, message: words, status: "INVALID_ARGUMENT" } }, status, headers),
};
