import type { GeneratorOptions } from "../spec.ts";

/** How one OpenAI-compatible server differs from the others. */
export interface ServerForm {
  /** How it is told a size, unless the user says otherwise. */
  sizeForm: NonNullable<GeneratorOptions["sizeForm"]>;
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
  /** Whether it is OpenAI's own, where the service's names for its models are translated. */
  isOpenAi: boolean;
}

/** A server that is not known: as most OpenAI-compatible ones are. */
const ANY: ServerForm = {
  sizeForm: "WxH",
  responseFormat: "b64_json",
  streams: false,
  references: "files",
  hasResolution: false,
  isOpenAi: false,
};

const KNOWN: Readonly<Record<string, Partial<ServerForm>>> = {
  "api.openai.com": { streams: true, references: "images", isOpenAi: true },
  "api.x.ai": { sizeForm: "aspect_ratio", references: "image", hasResolution: true },
  "api.together.xyz": {
    sizeForm: "width,height",
    responseFormat: "base64",
    references: "image_url",
  },
  "api.together.ai": { sizeForm: "width,height", responseFormat: "base64", references: "image_url" },
};

/** The form of the server at a generator's URL. */
export function serverFormOf(url: string): ServerForm {
  return { ...ANY, ...KNOWN[new URL(url).hostname] };
}
