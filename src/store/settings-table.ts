interface Setting {
  /** Type of the value; `client/setting-parsers.ts` has a parser for each. */
  type: string;
  variable?: string;
  help: string;
  default?: string;
}

const TABLE = {
  apiKey: {
    type: "key",
    variable: "IMGGEN_API_KEY",
    help: "the API key that imggen login has stored",
  },
  baseUrl: {
    type: "baseUrl",
    variable: "IMGGEN_BASE_URL",
    help: "the service's address",
  },
  generator: {
    type: "generator",
    variable: "IMGGEN_GENERATOR",
    help: "your own generator: imggen help generators",
  },
  generatorKey: {
    type: "generatorKey",
    variable: "IMGGEN_GENERATOR_KEY",
    help: "the generator's key, or user:password",
  },
  generatorModel: { type: "text", help: "the generator's model if --model is not given" },
  generatorSide: {
    type: "pixels",
    help: "longest side in pixels for 1K (default: 1024)",
    default: "1024",
  },
  generatorSize: {
    type: "sizeForm",
    help: "how a size is sent: WxH, width,height, aspect_ratio",
  },
  generatorConcurrency: {
    type: "slots",
    help: "max requests in flight, over all processes",
  },
  generatorTimeout: {
    type: "duration",
    help: "how long one image may take (default: 10m)",
    default: "10m",
  },
  field: {
    type: "fields",
    help: "fields of every request: steps=20 sampler_name=Euler",
  },
  fieldJson: {
    type: "jsonFields",
    help: 'fields as JSON: {"loras":[{"path":"fox"}]}',
  },
  seed: { type: "seed", help: "default of --seed, for a generator" },
  negative: { type: "text", help: "default of --negative, for a generator" },
  generatorHeader: {
    type: "headers",
    help: "headers of every request: name=VARIABLE",
  },
  workflow: {
    type: "workflow",
    help: "a ComfyUI workflow: imggen help comfyui",
  },
  generatorPaid: {
    type: "switch",
    help: "true: its images cost money (default: by its address)",
  },
  generatorFree: {
    type: "switch",
    help: "true: its images are free (default: by its address)",
  },
  price: {
    type: "credits",
    help: "credits for one image of a paid generator",
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
    help: "true: writes <image>.json beside each image",
    default: "false",
  },
  preview: {
    type: "switch",
    help: "true: shows images in the terminal",
    default: "false",
  },
  uploadCommand: {
    type: "command",
    variable: "IMGGEN_UPLOAD_COMMAND",
    help: "uploads a file for --image: imggen help uploads",
  },
  confirmAbove: {
    type: "credits",
    help: "confirm a batch above this cost (default: 100)",
    default: "100",
  },
  dailyCredits: {
    type: "credits",
    help: "max credits of a key per day, over all processes",
  },
  matrix: {
    type: "matrix",
    variable: "IMGGEN_MATRIX",
    help: "a JSON file of models: imggen help matrix",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof TABLE;
export type TypeOfSetting<Name extends SettingName> = (typeof TABLE)[Name]["type"];
export type SettingType = TypeOfSetting<SettingName>;

/** All settings, in the order of `imggen config`. The values are strings. */
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

/** Whether a setting applies to one generator only. */
export function isGeneratorSetting(name: SettingName): boolean {
  return GENERATOR_ONLY.has(name) || name.startsWith("generator");
}
