import { type Columns, type Matrix, model, RATIOS } from "../../models/matrix.ts";
import type { SizeForm } from "../../task/intent.ts";
import type { FieldNames } from "../../task/request-fields.ts";
import { DEFAULT_FIELD_NAMES } from "../kind.ts";

/** Deviations of one OpenAI-compatible server. */
export interface ServerForm {
  /** Default field for the size. */
  sizeForm: SizeForm;
  /** What makes it send the image in its reply; not sent for OpenAI's own models, which refuse the field. */
  responseFormat: "b64_json" | "base64";
  /** Whether the image is asked for as a stream of events, so that no proxy on the way takes the silence for an end. */
  streams: boolean;
  /**
   * How reference images are sent: as files of a form; as JSON `images` of `image_url`, `image` or `images` of `url`; or
   * in the usual request, as one `image_url`, or as `ref_images`.
   */
  references: "files" | "images" | "image" | "image_url" | "ref_images";
  /** Whether it takes `resolution`: 1k or 2k. */
  hasResolution: boolean;
  /** The names of its fields for a seed and a negative prompt. */
  fieldNames: FieldNames;
  /** Whether it is OpenAI's own, where the service's names for its models are translated. */
  isOpenAi: boolean;
}

/** An unknown server: most OpenAI-compatible servers are like this. */
const ANY: ServerForm = {
  sizeForm: "WxH",
  responseFormat: "b64_json",
  streams: false,
  references: "files",
  hasResolution: false,
  fieldNames: DEFAULT_FIELD_NAMES,
  isOpenAi: false,
};

const TOGETHER: Partial<ServerForm> = {
  sizeForm: "width,height",
  responseFormat: "base64",
  references: "image_url",
};

const KNOWN: Readonly<Record<string, Partial<ServerForm>>> = {
  "api.openai.com": { streams: true, references: "images", fieldNames: {}, isOpenAi: true },
  "api.x.ai": { sizeForm: "aspect_ratio", references: "image", hasResolution: true, fieldNames: {} },
  "api.together.xyz": TOGETHER,
  "api.together.ai": TOGETHER,
};

/** The form of the server at a generator's URL. */
export function findServerForm(url: string): ServerForm {
  const { hostname } = new URL(url);
  return { ...ANY, ...(AZURE.test(hostname) && { fieldNames: {} }), ...KNOWN[hostname] };
}

/** OpenAI's own models, which refuse fields that they do not know. */
const AZURE = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/;

/** The names of the fields for a seed and a negative prompt, of the server at a URL. */
export function fieldNamesAt({ url }: { url: string }): FieldNames {
  return findServerForm(url).fieldNames;
}

/** The model of requests to OpenAI that name none. */
export const OPENAI_DEFAULT_MODEL = "gpt-image-2";

/**
 * OpenAI's models that the service's own ids fit, so that a script that was written for the service runs unchanged. An
 * inference from ratios and qualities, which a matrix file can overrule, and no claim about the service.
 */
const OPENAI_NAMES: Readonly<Record<string, string>> = {
  "gamma-image-2": "gpt-image-2",
  "gamma-image-2-5-flare-text": "gpt-image-2.5-flare",
  "gamma-image-2-5-flare-image": "gpt-image-2.5-flare",
  "gamma-image-2-5-sunburst-text": "gpt-image-2.5-sunburst",
  "delta-Image": "gpt-image-1",
};

/** OpenAI's name of a model; one that is none of the service's stays as it is. */
export function openAiName(name: string): string {
  return Object.hasOwn(OPENAI_NAMES, name) ? (OPENAI_NAMES[name] ?? name) : name;
}

/** The ratios within 1:3 and 3:1, which gpt-image-2 and later ones take. */
const WITHIN_3_TO_1 = RATIOS.filter((ratio) => {
  const [width, height] = ratio.split(":").map(Number);
  return ratio === "auto" || Math.max(Number(width) / Number(height), Number(height) / Number(width)) <= 3;
});

/** Prices are the user's to say: OpenAI's are by tokens, and its reply has their number. */
const ANY_MODEL: Columns = {
  kinds: ["text-to-image", "edit"],
  references: { min: 0, max: 16, httpsOnly: false },
  promptLimit: 32_000,
};
const ANY_SIZE: Columns = { ...ANY_MODEL, ratios: WITHIN_3_TO_1, qualities: ["1K", "2K", "4K"] };
const THREE_SIZES: Columns = { ...ANY_MODEL, ratios: ["auto", "1:1", "3:2", "2:3"], qualities: ["1K"] };

/** OpenAI's models by name. */
const OPENAI_MODELS: Matrix = [
  model("gpt-image-2", ANY_SIZE, { notes: ["OpenAI's default"] }),
  model("gpt-image-2.5-flare", ANY_SIZE),
  model("gpt-image-2.5-sunburst", ANY_SIZE),
  model("gpt-image-1.5", THREE_SIZES),
  model("gpt-image-1", THREE_SIZES),
  model("gpt-image-1-mini", THREE_SIZES),
  model("chatgpt-image-latest", THREE_SIZES),
];

/** What OpenAI's models do, under their own names and under those of the service. */
export const OPENAI_MATRIX: Matrix = [
  ...OPENAI_MODELS,
  ...Object.entries(OPENAI_NAMES).flatMap(([id, name]) =>
    OPENAI_MODELS.filter((each) => each.id === name).map((each) => ({
      ...each,
      id,
      aliasOf: name,
      notes: [`OpenAI's ${name}`],
    })),
  ),
];

/** The models that the server at this URL is known to have, and the one it is asked for by default; null: not known. */
export function modelsAt({ url }: { url: string }): { matrix: Matrix; default: string } | null {
  return findServerForm(url).isOpenAi ? { matrix: OPENAI_MATRIX, default: OPENAI_DEFAULT_MODEL } : null;
}
