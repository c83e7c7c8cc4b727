interface Setting {
  /** Type of the value, with a parser in `client/setting-parsers.ts`. */
  type: string;
  /** Environment variable that overrides it. */
  variable?: string;
  /** Text for help. */
  help: string;
  /** In stored form; absent if there is no default. */
  default?: string;
}

const TABLE = {
  apiKey: {
    type: "key",
    variable: "IMGGEN_API_KEY",
    help: "the API key, which begins with sk-; imggen login stores it for one base URL",
  },
  baseUrl: {
    type: "baseUrl",
    variable: "IMGGEN_BASE_URL",
    help: "the service's address; plain http: is for this machine only",
  },
  generator: {
    type: "generator",
    variable: "IMGGEN_GENERATOR",
    help: "your own generator in place of a service: openai, comfyui:<url>, replicate, a URL and others, see imggen help generators",
  },
  generatorKey: {
    type: "generatorKey",
    variable: "IMGGEN_GENERATOR_KEY",
    help: "the generator's key, or user:password; imggen login --generator stores it for one address",
  },
  generatorModel: { type: "text", help: "the model where --model names none" },
  generatorSide: {
    type: "pixels",
    help: "longest side in pixels for 1K or no quality, 2K is twice as long (default: 1024)",
    default: "1024",
  },
  generatorSize: {
    type: "sizeForm",
    help: "how a size is sent: WxH, width,height or aspect_ratio (default: as the server is known to take it)",
  },
  generatorConcurrency: {
    type: "places",
    help: "requests at once, over all processes (default: 1; 4 for replicate, fal, bfl, gemini and packages)",
  },
  generatorTimeout: {
    type: "duration",
    help: "how long one image may take (default: 10m)",
    default: "10m",
  },
  field: {
    type: "fields",
    help: "fields of every request to a generator, as name=value, separated by spaces: steps=20 sampler_name=Euler",
  },
  fieldJson: {
    type: "jsonFields",
    help: 'fields whose values are objects or lists, as one JSON object: {"loras":[{"path":"fox","scale":0.8}]}',
  },
  seed: { type: "seed", help: "default of --seed, for a generator" },
  negative: { type: "text", help: "default of --negative, for a generator" },
  generatorHeader: {
    type: "headers",
    help: "headers of every request, as name=VARIABLE, whose value the variable holds",
  },
  workflow: {
    type: "workflow",
    help: "a ComfyUI workflow that makes the images: a file of Export (API), or a PNG that ComfyUI saved",
  },
  generatorPaid: {
    type: "switch",
    help: "true: its images cost money, so that no request is sent twice (default: by its address)",
  },
  generatorFree: {
    type: "switch",
    help: "true: its images cost nothing (default: by its address)",
  },
  price: {
    type: "credits",
    help: "what one image of a paid generator costs, in credits, where the matrix file has no price",
  },
  model: {
    type: "model",
    variable: "IMGGEN_MODEL",
    help: "default of --model",
    default: "vendor1/alpha-2",
  },
  ratio: { type: "ratio", help: "default of --ratio" },
  quality: { type: "quality", help: "default of --quality" },
  output: { type: "folder", variable: "IMGGEN_OUTPUT", help: "default of --output", default: "." },
  timeout: { type: "duration", variable: "IMGGEN_TIMEOUT", help: "default of --timeout", default: "180s" },
  sidecar: {
    type: "switch",
    help: "true: write <image>.json beside each image, as --sidecar does (default: false)",
    default: "false",
  },
  preview: {
    type: "switch",
    help: "true: show images in the terminal, as --preview does (default: false)",
    default: "false",
  },
  uploadCommand: {
    type: "command",
    variable: "IMGGEN_UPLOAD_COMMAND",
    help: "command that uploads {file} and prints its URL, for --image <path>, see imggen help uploads",
  },
  confirmAbove: {
    type: "credits",
    help: "above so many credits batch and compare ask first (default: 100)",
    default: "100",
  },
  dailyCredits: {
    type: "credits",
    help: "what a key may spend in a day, in credits, over all commands and processes",
  },
  matrix: {
    type: "matrix",
    variable: "IMGGEN_MATRIX",
    help: "a JSON file that adds or changes models, see imggen help json",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof TABLE;
export type TypeOfSetting<Name extends SettingName> = (typeof TABLE)[Name]["type"];
export type SettingType = TypeOfSetting<SettingName>;

/** All settings in the order of `imggen config`. All values are texts. */
export const SETTINGS: Readonly<Record<SettingName, Setting & { type: SettingType }>> = TABLE;
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

const GENERATOR_ONLY: ReadonlySet<SettingName> = new Set([
  "field",
  "fieldJson",
  "seed",
  "negative",
  "workflow",
  "price",
]);

/** Whether a setting names or configures one generator, and must not apply to the next one. */
export function isGeneratorSetting(name: SettingName): boolean {
  return GENERATOR_ONLY.has(name) || name.startsWith("generator");
}
