import type { Command } from "commander";
import type { Effective } from "../../client/effective-settings.ts";
import { savedFields } from "../../client/stored-fields.ts";
import { seedOption, wholeNumberOption } from "../../lib/whole-number.ts";
import { MAX_IMAGES } from "../../models/matrix.ts";
import { isLocalFile } from "../../models/rules/images.ts";
import { FLAG_LABELS, type Labels } from "../../models/rules/rule.ts";
import type { SavedFields } from "../../models/saved-fields.ts";
import type { RequestInput } from "../../task/request.ts";
import {
  type FieldName,
  fieldsFrom,
  type GivenFields,
  isFieldName,
  REQUEST_FIELDS,
} from "../../task/request-fields.ts";
import { collect, OPTION_GROUPS } from "../session/command.ts";
import type { Session } from "../session/session.ts";

/** `--field`, a flag of every command that uses a generator. */
type FlagName = Exclude<FieldName, "prompt" | "fields">;

/** Flags that say what to generate, as they were given. */
export type RequestFlags = {
  [Name in FlagName]?: (typeof REQUEST_FIELDS)[Name] extends "texts" ? string[] : string;
};

interface Flag {
  short?: string;
  /** Stands for the value in the help. */
  value: string;
  description: string;
}

/** The fields in the order of the help. */
const FLAGS: Readonly<Record<FlagName, Flag>> = {
  model: {
    short: "-m",
    value: "<id>",
    description: "model, see imggen models (default: vendor1/alpha-2)",
  },
  ratio: { short: "-r", value: "<w:h>", description: "aspect ratio, such as 16:9, or auto" },
  quality: {
    short: "-q",
    value: "<quality>",
    description: "basic, high, 1K, 2K or 4K, as the model allows",
  },
  maxImages: {
    short: "-n",
    value: "<n>",
    description: "number of images, 1 to 15, as the model allows",
  },
  seed: {
    value: "<n>",
    description: "seed, where your own generator takes one; each further image has the next",
  },
  negative: {
    value: "<text>",
    description: "what the image is not to show, where your own generator takes that",
  },
  image: {
    short: "-i",
    value: "<image>",
    description: "reference image: a URL, or with your own generator a file; repeat it for several",
  },
};

/** `--image` of commands that upload files. */
export const IMAGE_OR_FILE = "reference image: a URL, or a file (imggen help uploads); repeat it for several";

function isFlagName(name: string): name is FlagName {
  return isFieldName(name) && Object.hasOwn(FLAGS, name);
}

/** Adds those flags to a command. @param shown how its help describes a flag that takes more there than elsewhere */
export function addRequestOptions(command: Command, shown: { [Name in FlagName]?: string } = {}): Command {
  command.optionsGroup(OPTION_GROUPS.request);
  for (const name of Object.keys(FLAGS).filter(isFlagName)) addFieldOption(command, name, shown[name]);
  return command;
}

/** Adds the flag of one field. */
export function addFieldOption(
  command: Command,
  name: FlagName,
  description = FLAGS[name].description,
): Command {
  const { short, value } = FLAGS[name];
  const flags = `${short === undefined ? "" : `${short}, `}${FLAG_LABELS[name]} ${value}`;
  return REQUEST_FIELDS[name] === "texts"
    ? command.option(flags, description, collect)
    : command.option(flags, description);
}

export interface RequestValues {
  values: Omit<RequestInput, "prompt">;
  /** Values of config.json, for what `values` leaves open. */
  saved: SavedFields;
  /** Where each value came from, for messages about it. */
  labels: Partial<Labels>;
}

/** A request's values from flags, environment and config; values that are not set are absent. @throws UsageError */
export function readRequestFlags(flags: RequestFlags, session: Session): RequestValues {
  const { settings } = session;
  const { model, ...others } = flags;
  const setting = settings.get("model", { value: model, label: FLAG_LABELS.model });
  const saved = savedFields(settings);
  if (setting === undefined || isOfService(setting, session))
    return { values: valuesOf(others), saved, labels: {} };
  const values = valuesOf({ ...others, model: setting.value });
  return { values, saved, labels: { model: setting.label } };
}

/** Whether a setting is the service's default model: which one the user's own generator has, its terms say. */
function isOfService({ source }: Effective, { settings }: Session): boolean {
  return source !== "flag" && settings.generator() !== undefined;
}

/** The values that flags give; those that are not set are absent. @throws UsageError */
export function valuesOf(flags: RequestFlags): Omit<RequestInput, "prompt"> {
  return fieldsFrom<GivenFields>((name) => (isFlagName(name) ? fromFlag(name, flags[name]) : undefined));
}

/** Whether files among reference images can be uploaded; undefined where there are none. */
export function canUpload(images: readonly string[] | undefined, { settings }: Session): boolean | undefined {
  return images?.some(isLocalFile) ? settings.get("uploadCommand") !== undefined : undefined;
}

const LIMITS = `${MAX_IMAGES.min} to ${MAX_IMAGES.max}`;

/** @throws UsageError */
function fromFlag(name: FlagName, value: RequestFlags[FlagName]): GivenFields[FieldName] {
  if (name === "seed" && typeof value === "string") return seedOption(FLAG_LABELS.seed, value);
  const isNumber = REQUEST_FIELDS[name] === "number" && typeof value === "string";
  // The service's own limits are for the model matrix to check, which --no-validate switches off.
  const limits = { min: 0, ...(name === "maxImages" && { shown: LIMITS }) };
  return isNumber ? wholeNumberOption(FLAG_LABELS[name], value, limits) : value;
}
