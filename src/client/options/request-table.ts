import type { FieldName } from "../../task/request-fields.ts";
import { inGroup, type Options } from "./option.ts";
import { VIEW, waitOptions } from "./task-table.ts";

const request = inGroup("Prompt and model");
const output = inGroup("Output");
const cost = inGroup("Cost");
const waiting = inGroup("Waiting");
const advanced = inGroup("Advanced");

/** Fields of a request in the order of the help. The prompt is an argument, and `--field` a global option. */
const REQUEST = {
  model: request("text", "-m, --model <id>", "model, see imggen models (default: vendor1/alpha-2)", {
    known: "model",
  }),
  ratio: request("text", "-r, --ratio <w:h>", "aspect ratio, such as 16:9, or auto", { known: "ratio" }),
  quality: request("text", "-q, --quality <quality>", "basic, high, 1K, 2K or 4K, as the model allows", {
    known: "quality",
  }),
  maxImages: request("whole", "-n, --max-images <n>", "number of images, 1 to 15, as the model allows", {
    min: 1,
    max: 15,
    isAdvisory: true,
  }),
  seed: request(
    "seed",
    "--seed <n>",
    "seed, where your own generator takes one; each further image has the next",
  ),
  negative: request(
    "text",
    "--negative <text>",
    "what the image is not to show, where your own generator takes that",
  ),
  image: request(
    "images",
    "-i, --image <image>",
    "reference image: a URL, or with your own generator a file; repeat it for several",
  ),
} satisfies Options & Record<Exclude<FieldName, "prompt" | "fields">, unknown>;

const VALIDATE = {
  validate: request("on", "--no-validate", "skip validation against the model matrix"),
} satisfies Options;

const PLACEHOLDERS = "{slug} {model} {ratio} {quality} {task} {index} {date} {time} {ext}";

const OUTPUT = {
  output: output("path", "-o, --output <path>", "file, folder (ends in /), or - for standard output"),
  name: output("text", "--name <template>", `file name in a folder, of ${PLACEHOLDERS}`),
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

/** Options of commands that submit one request, after those of the request. */
export const SUBMIT = {
  ...VALIDATE,
  ...OUTPUT,
  ...SIDECAR,
  ...VIEW,
  dryRun: cost("flag", "--dry-run", "validate, show the request and its cost, send nothing"),
  maxCredits: cost("whole", "--max-credits <n>", "refuse to spend more than <n> credits"),
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
    "upload files given as --image again, uploaded before or not",
  ),
} satisfies Options;

export const GENERATE = {
  ...REQUEST,
  image: IMAGE_OR_FILE,
  promptFile: request("path", "--prompt-file <path>", "read the prompt from a file"),
  edit: request("flag", "--edit", "write the prompt in $EDITOR, beginning with what was given"),
  ...SUBMIT,
  reuse: cost("flag", "--reuse", "reuse the task of an identical earlier request"),
  again: cost("flag", "--again", "submit a new task even if an identical request is unfinished"),
} satisfies Options;

export const RERUN = {
  ...REQUEST,
  model: request("text", "-m, --model <id>", "model, see imggen models (default: the same)", {
    known: "model",
  }),
  image: IMAGE_OR_FILE,
  ...SUBMIT,
  yes: cost("flag", "--yes", "submit to the configured service what was charged at another"),
} satisfies Options;

/** Options of commands that submit many requests, after those of the requests. */
export const SUBMIT_MANY = {
  ...VALIDATE,
  output: output("folder", "-o, --output <dir>", "folder for the images (default: the current one)"),
  name: output("text", "--name <template>", `file name, of ${PLACEHOLDERS}`),
  overwrite: OUTPUT.overwrite,
  ...SIDECAR,
  sheet: output("flag", "--sheet", "make a contact sheet of the images, contact-sheet.png"),
  maxCredits: cost("whole", "--max-credits <n>", "total budget, earlier runs included"),
  yes: cost("flag", "--yes", "skip the confirmation of the cost, and of a folder that another machine began"),
  dryRun: cost("flag", "--dry-run", "validate, show the cost, send nothing"),
  retryFailed: cost("flag", "--retry-failed", "submit failed rows again"),
  resubmitUnknown: cost("flag", "--resubmit-unknown", "submit rows again whose outcome is unknown"),
  concurrency: waiting("whole", "--concurrency <n>", "requests under way at once (default: 4)", {
    min: 1,
    max: 256,
  }),
  ...waitOptions("how long to wait for each result", { group: "Waiting" }),
} satisfies Options;

export const BATCH = {
  ...REQUEST,
  template: request(
    "text",
    "--template <text>",
    "prompt of rows without one, of their columns: a {colour} fox",
  ),
  ...SUBMIT_MANY,
  shard: advanced("text", "--shard <i/n>", "only the i-th of n equal parts, by the rows' content"),
} satisfies Options;

export const COMPARE = {
  model: request("list", "-m, --model <ids>", "models, comma-separated, see imggen models", {
    known: "model",
  }),
  ratio: request("list", "-r, --ratio <ratios>", "aspect ratios, comma-separated", { known: "ratio" }),
  quality: request("list", "-q, --quality <qualities>", "qualities, comma-separated", { known: "quality" }),
  image: REQUEST.image,
  seed: REQUEST.seed,
  negative: REQUEST.negative,
  ...SUBMIT_MANY,
} satisfies Options;
