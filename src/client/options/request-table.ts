import type { FieldName } from "../../task/request-fields.ts";
import { type Options, optionsOfGroup } from "./option.ts";
import { VIEW, waitOptions } from "./task-table.ts";

const request = optionsOfGroup("Prompt and model");
const output = optionsOfGroup("Output");
const cost = optionsOfGroup("Cost");
const waiting = optionsOfGroup("Waiting");
const advanced = optionsOfGroup("Advanced");

/** Fields of a request, in the order of the help. The prompt is an argument, and `--field` is a global option. */
export const REQUEST = {
  /** Id of a model, or the part after its slash. Default: `vendor1/alpha-2`. */
  model: request("text", "-m, --model <id>", "model, see imggen models (default: vendor1/alpha-2)", {
    suggestions: "model",
  }),
  /** Aspect ratio such as `16:9`, or `auto`. */
  ratio: request("text", "-r, --ratio <w:h>", "aspect ratio, such as 16:9, or auto", {
    suggestions: "ratio",
    agents:
      "Aspect ratio, as the model allows: auto, 1:1, 2:3, 3:2, 3:4, 4:3, 4:5, 5:4, 9:16, 16:9, 21:9 and others.",
  }),
  /** `basic`, `high`, `1K`, `2K` or `4K`, if the model supports it. */
  quality: request("text", "-q, --quality <quality>", "basic, high, 1K, 2K or 4K, as the model allows", {
    suggestions: "quality",
    agents: "Quality or resolution, as the model allows.",
  }),
  maxImages: request("whole", "-n, --max-images <n>", "number of images, 1 to 15, as the model allows", {
    min: 1,
    max: 15,
    isAdvisory: true,
    agents: "Number of images, as the model allows.",
  }),
  /**
   * Seed of the first image, if the generator supports seeds. Each further image has the next number. Seeds
   * from 2^53 to 2^64 - 1 must be strings.
   */
  seed: request(
    "seed",
    "--seed <n>",
    "seed, if your own generator supports it; each further image has the next number",
    {
      agents:
        "Seed of the first image, as digits, incremented for each further image. Only for the user's own generator.",
    },
  ),
  /** Negative prompt, if the user's generator supports it. */
  negative: request(
    "text",
    "--negative <text>",
    "things to avoid in the image, if your own generator supports negative prompts",
    { agents: "What the image must not show. Only for the user's own generator." },
  ),
  /** URLs of reference images. The user's own generator also supports paths of files. */
  image: request(
    "images",
    "-i, --image <image>",
    "reference image: a URL, or with your own generator a file; repeat it for several",
    {
      agents:
        "http(s) URLs of reference images, for a model that edits images. With the user's own generator, also paths of files in the output folder.",
    },
  ),
} satisfies Options & Record<Exclude<FieldName, "prompt" | "fields">, unknown>;

export const VALIDATE = {
  /** If false, the request is not validated against the model matrix. Default true. */
  validate: request("on", "--no-validate", "skip validation against the model matrix"),
} satisfies Options;

const PLACEHOLDERS = "{slug} {model} {ratio} {quality} {seed} {task} {index} {date} {time} {ext}";

export const OUTPUT = {
  /** A file, or a folder that exists or ends in `/`. Default: the working folder. */
  output: output("path", "-o, --output <path>", "file, folder (ends in /), or - for standard output"),
  /** Template of file names in a folder, such as `{slug}-{task}.{ext}`. */
  name: output("text", "--name <template>", `template of file names in a folder, with ${PLACEHOLDERS}`),
  /** Replaces existing files. Default false. */
  overwrite: output("flag", "--overwrite", "replace existing files"),
} satisfies Options;

const SIDECAR = {
  sidecar: output("flag", "--sidecar", "write the request and its cost to <image>.json, beside each image"),
} satisfies Options;

const IMAGE_OR_FILE = request(
  "images",
  "-i, --image <image>",
  "reference image: a URL, or a file (imggen help uploads); repeat it for several",
);

export const SUBMIT = {
  ...VALIDATE,
  ...OUTPUT,
  ...SIDECAR,
  ...VIEW,
  dryRun: cost("flag", "--dry-run", "validate, show the request and its cost, send nothing"),
  /** Maximum cost in credits. */
  maxCredits: cost("whole", "--max-credits <n>", "refuse to spend more than <n> credits"),
  /** If false, the call returns when the task is accepted. Default true. */
  wait: waiting("on", "--no-wait", "return once the task is accepted"),
  ...waitOptions("how long to wait for the result", { group: "Waiting" }),
  checkImages: advanced(
    "flag",
    "--check-images",
    "check type and size of reference images with HEAD, before anything is charged",
  ),
  uploadCache: advanced(
    "on",
    "--no-upload-cache",
    "upload files given as --image even if they were uploaded before",
  ),
} satisfies Options;

const SEEDS = request(
  "seeds",
  "--seed <n>",
  "seed, or several such as 1-40 or 3,7,11 (one request each), if your own generator supports seeds",
);

const MULTIPLE_REQUESTS = {
  /** Allows undocumented costs, costs above the setting `confirmAbove`, and a batch that another machine began. */
  yes: cost("flag", "--yes", "skip the confirmations of the cost and of a folder from another machine"),
  /** Submits failed rows again, at a new charge. */
  retryFailed: cost("flag", "--retry-failed", "submit failed rows again"),
  /** Submits rows of unknown outcome again, at a new charge. */
  resubmitUnknown: cost("flag", "--resubmit-unknown", "submit rows of unknown outcome again"),
  /** Number of requests in flight, 1 to 256. Default 4. */
  concurrency: waiting("whole", "--concurrency <n>", "requests in flight at once (default: 4)", {
    min: 1,
    max: 256,
  }),
} satisfies Options;

export const GENERATE = {
  ...REQUEST,
  seed: SEEDS,
  image: IMAGE_OR_FILE,
  promptFile: request("path", "--prompt-file <path>", "read the prompt from a file"),
  edit: request("flag", "--edit", "write the prompt in $EDITOR, starting with the given prompt"),
  ...SUBMIT,
  /** Returns the task of an identical request that was charged before, if any. Default false. */
  reuse: cost("flag", "--reuse", "reuse the task of an identical earlier request"),
  /** Submits a new task even if an identical request is unfinished or has an unknown outcome. Default false. */
  again: cost("flag", "--again", "submit a new task even if an identical request is unfinished"),
  ...MULTIPLE_REQUESTS,
} satisfies Options;

export const RERUN = {
  ...REQUEST,
  model: request("text", "-m, --model <id>", "model, see imggen models (default: the same)", {
    suggestions: "model",
  }),
  image: IMAGE_OR_FILE,
  seed: request("seedOrRandom", "--seed <n>", "seed, or random for a new one (default: the same)"),
  prompt: request("text", "--prompt <text>", "prompt (default: the same)"),
  promptFile: GENERATE.promptFile,
  edit: request("flag", "--edit", "edit the prompt in $EDITOR"),
  ...SUBMIT,
  yes: cost("flag", "--yes", "skip the confirmations of the cost and of a different service than before"),
} satisfies Options;

export const SUBMIT_MANY = {
  ...VALIDATE,
  output: output("folder", "-o, --output <dir>", "folder for the images (default: the current one)"),
  name: output("text", "--name <template>", `template of file names, with ${PLACEHOLDERS}`),
  overwrite: OUTPUT.overwrite,
  ...SIDECAR,
  sheet: output("flag", "--sheet", "make a contact sheet of the images, contact-sheet.png"),
  /** Total budget in credits, including earlier runs. */
  maxCredits: cost("whole", "--max-credits <n>", "total budget, earlier runs included"),
  dryRun: cost("flag", "--dry-run", "validate, show the cost, send nothing"),
  ...MULTIPLE_REQUESTS,
  ...waitOptions("how long to wait for each result", { group: "Waiting" }),
} satisfies Options;

export const BATCH = {
  ...REQUEST,
  seed: SEEDS,
  template: request(
    "text",
    "--template <text>",
    "prompt of rows without a prompt, with names of columns in braces, such as a {colour} fox",
  ),
  ...SUBMIT_MANY,
  shard: advanced(
    "text",
    "--shard <i/n>",
    "submit only part i of n, such as 1/4; the content of a row decides its part",
  ),
} satisfies Options;

export const COMPARE = {
  model: request("list", "-m, --model <ids>", "models, comma-separated, see imggen models", {
    suggestions: "model",
  }),
  ratio: request("list", "-r, --ratio <ratios>", "aspect ratios, comma-separated", { suggestions: "ratio" }),
  quality: request("list", "-q, --quality <qualities>", "qualities, comma-separated", {
    suggestions: "quality",
  }),
  image: REQUEST.image,
  seed: SEEDS,
  negative: REQUEST.negative,
  ...SUBMIT_MANY,
} satisfies Options;
