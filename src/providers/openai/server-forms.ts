import { type Columns, type Matrix, model, RATIOS } from "../../models/matrix.ts";
import type { SizeForm } from "../../task/intent.ts";
import type { FieldNames } from "../../task/request-fields.ts";
import { DEFAULT_FIELD_NAMES } from "../kind.ts";

/** Properties in which OpenAI-compatible servers differ. */
export interface ServerForm {
  sizeForm: SizeForm;
  /** Value of `response_format` for an image in the reply. Not sent to OpenAI's own models, which refuse this field. */
  responseFormat: "b64_json" | "base64";
  /** Whether to request an event stream, because a proxy might close a connection without traffic. */
  streams: boolean;
  /**
   * Form in which reference images are sent. `files`: a multipart form to `/images/edits`. `images`, `image`: JSON
   * fields to `/images/edits`. `image_url`, `ref_images`: JSON fields to `/images/generations`.
   */
  references: "files" | "images" | "image" | "image_url" | "ref_images";
  /** Whether the server supports the field `resolution` with the values 1k and 2k. */
  hasResolution: boolean;
  fieldNames: FieldNames;
  /** Whether the server is OpenAI's own. If so, model ids of the service are replaced with OpenAI's names. */
  isOpenAi: boolean;
}

/** Default form, which most OpenAI-compatible servers support. */
const DEFAULT_FORM: ServerForm = {
  sizeForm: "WxH",
  responseFormat: "b64_json",
  streams: false,
  references: "files",
  hasResolution: false,
  fieldNames: DEFAULT_FIELD_NAMES,
  isOpenAi: false,
};

const TOGETHER_FORM: Partial<ServerForm> = {
  sizeForm: "width,height",
  responseFormat: "base64",
  references: "image_url",
};

const KNOWN_FORMS: Readonly<Record<string, Partial<ServerForm>>> = {
  "api.openai.com": { streams: true, references: "images", fieldNames: {}, isOpenAi: true },
  "api.x.ai": { sizeForm: "aspect_ratio", references: "image", hasResolution: true, fieldNames: {} },
  "api.together.xyz": TOGETHER_FORM,
  "api.together.ai": TOGETHER_FORM,
};

export function findServerForm(url: string): ServerForm {
  const { hostname } = new URL(url);
  return { ...DEFAULT_FORM, ...(AZURE.test(hostname) && { fieldNames: {} }), ...KNOWN_FORMS[hostname] };
}

/** Matches host names of Azure, which hosts OpenAI's models. These models refuse unknown fields. */
const AZURE = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/;

export function fieldNamesAt({ url }: { url: string }): FieldNames {
  return findServerForm(url).fieldNames;
}

export const OPENAI_DEFAULT_MODEL = "gpt-image-2";

/**
 * OpenAI's names for model ids of the service, so that scripts for the service also work with OpenAI.
 * The names were inferred from ratios and qualities. The user's matrix file can override them.
 */
const OPENAI_NAMES: Readonly<Record<string, string>> = {
  "gamma-image-2": "gpt-image-2",
  "gamma-image-2-5-flare-text": "gpt-image-2.5-flare",
  "gamma-image-2-5-flare-image": "gpt-image-2.5-flare",
  "gamma-image-2-5-sunburst-text": "gpt-image-2.5-sunburst",
  "delta-Image": "gpt-image-1",
};

export function openAiName(name: string): string {
  return Object.hasOwn(OPENAI_NAMES, name) ? (OPENAI_NAMES[name] ?? name) : name;
}

/** Ratios from 1:3 to 3:1, the limits of gpt-image-2 and later models. */
const WITHIN_3_TO_1 = RATIOS.filter((ratio) => {
  const [width, height] = ratio.split(":").map(Number);
  return ratio === "auto" || Math.max(Number(width) / Number(height), Number(height) / Number(width)) <= 3;
});

/** Columns without prices, because OpenAI charges by tokens. The user can configure prices. */
const COMMON_COLUMNS: Columns = {
  kinds: ["text-to-image", "edit"],
  references: { min: 0, max: 16, httpsOnly: false },
  promptLimit: 32_000,
};
const ANY_SIZE: Columns = { ...COMMON_COLUMNS, ratios: WITHIN_3_TO_1, qualities: ["1K", "2K", "4K"] };
const THREE_SIZES: Columns = { ...COMMON_COLUMNS, ratios: ["auto", "1:1", "3:2", "2:3"], qualities: ["1K"] };

const OPENAI_MODELS: Matrix = [
  model("gpt-image-2", ANY_SIZE, { notes: ["OpenAI's default"] }),
  model("gpt-image-2.5-flare", ANY_SIZE),
  model("gpt-image-2.5-sunburst", ANY_SIZE),
  model("gpt-image-1.5", THREE_SIZES),
  model("gpt-image-1", THREE_SIZES),
  model("gpt-image-1-mini", THREE_SIZES),
  model("chatgpt-image-latest", THREE_SIZES),
];

/** OpenAI's models. Each model is listed under its own name and under the service's ids for that model. */
export const OPENAI_MATRIX: Matrix = [
  ...OPENAI_MODELS,
  ...Object.entries(OPENAI_NAMES).flatMap(([id, name]) =>
    OPENAI_MODELS.filter((each) => each.id === name).map((each) => ({
      ...each,
      id,
      aliasOf: name,
      notes: [`OpenAI's name: ${name}`],
    })),
  ),
];

export function modelsAt({ url }: { url: string }): { matrix: Matrix; default: string } | null {
  return findServerForm(url).isOpenAi ? { matrix: OPENAI_MATRIX, default: OPENAI_DEFAULT_MODEL } : null;
}
