import { MAX_SEED, nextSeed, parseSeed } from "../../lib/exact-integer.ts";
import { hasControlCharacter } from "../../lib/late-regex.ts";
import { describeSeedProblem } from "../../lib/whole-number.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { GeneratorFields } from "../../task/request.ts";
import type { FieldNames, InputFields, ProviderFields } from "../../task/request-fields.ts";
import { type Labels, leftOutWarning, type Refusal, type RuleInput, refuse } from "./rule.ts";

// The generator-only fields of a request: a seed, a negative prompt, and fields under the generator's own names.

const FIELD_TEXTS = { seed: "a seed", negative: "a negative prompt" } as const;
const NAMES = ["seed", "negative", "fields"] as const;

/** Refuses fields that the service's document does not have: a service that ignored one would make another image. */
export function refuseGeneratorFields(
  subject: Pick<RuleInput, "input" | "labels" | "inherited">,
): Refusal | undefined {
  const { input, labels, inherited } = subject;
  const values = { ...input, fields: Object.keys(input.fields ?? {})[0] };
  const name = NAMES.find((each) => values[each] !== undefined);
  if (name === undefined) return undefined;
  const hint = inherited?.includes(name) ? "give the prompt to imggen generate" : "leave it out";
  return refuse(`${labels[name]} cannot be used: the service does not support it`, [
    `${hint}; your own generator may take it.`,
    phrase`More: ${action("help", "generators")}`,
  ]);
}

/** A generator's terms for these fields. */
export interface FieldTerms {
  /** The names of its fields for a seed and a negative prompt; absent: unsupported. */
  fieldNames: FieldNames;
  /** Defaults of requests, from flags. */
  defaults: Pick<GeneratorFields, "fields">;
  /** Defaults of requests, from config.json. */
  savedFields: GeneratorFields;
}

/**
 * The generator-only fields of a request, with the generator's defaults. A field of the request overrides its seed or
 * negative prompt, and those override default fields. A saved seed or negative prompt that the generator does not
 * support is left out, with a warning.
 * @returns fields sorted by name, so that equal requests are equal; or the refusal
 */
export function generatorFields(
  input: GeneratorFields & Pick<InputFields, "maxImages">,
  { fieldNames, defaults, savedFields }: FieldTerms,
  labels: Labels,
): { fields: GeneratorFields; warnings: string[] } | Refusal {
  const { fields: requestFields = {} } = input;
  const [wrong] = Object.entries(requestFields).flatMap(([name, value]) => wrongField(name, value) ?? []);
  if (wrong !== undefined) return refuse(`${labels.fields}: ${wrong}`, "leave it out", undefined);
  const fields: Record<string, ProviderFields[string]> = {
    ...savedFields.fields,
    ...defaults.fields,
    ...requestFields,
  };
  const flagFields = defaults.fields ?? {};
  const result: GeneratorFields = {};
  const warnings: string[] = [];
  for (const name of ["seed", "negative"] as const) {
    const field = fieldNames[name];
    const value =
      input[name] ??
      (field !== undefined && Object.hasOwn(flagFields, field) ? undefined : savedFields[name]);
    if (value === undefined) continue;
    if (field === undefined && input[name] !== undefined)
      return refuse(`${labels[name]} cannot be used: this generator has no field for ${FIELD_TEXTS[name]}`, [
        "leave it out.",
        phrase`Generators that have one: ${action("help", "generators")}`,
      ]);
    if (field === undefined) {
      warnings.push(leftOutWarning(name, value, `This generator has no field for ${FIELD_TEXTS[name]}.`));
      continue;
    }
    if (Object.hasOwn(requestFields, field)) continue;
    delete fields[field];
    Object.assign(result, { [name]: value });
  }
  // Each image needs a seed of its own: equal seeds make equal images.
  const further = (input.maxImages ?? 1) - 1;
  const seed = result.seed === undefined ? null : parseSeed(result.seed);
  if (result.seed !== undefined && seed === null)
    return refuse(`${labels.seed}${describeSeedProblem(result.seed)}`, "give another one, or none");
  if (seed !== null && nextSeed(seed, further) === null)
    return refuse(
      `${labels.seed} is too large: each further image has the next number, up to ${MAX_SEED}`,
      "give a smaller one",
    );
  if (seed !== null) result.seed = seed;
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    fields: { ...result, fields: sorted.length > 0 ? Object.fromEntries(sorted) : undefined },
    warnings,
  };
}

/**
 * Names of the number of images, without case and underscores. Each image has a price, so a cap must know their
 * number.
 */
const COUNTS: ReadonlySet<string> = new Set(
  `n batchsize batchcount niter numoutputs numimages numimagesperprompt numberofimages imagecount imagescount nimages
  maximages candidatecount numsamples nsamples samplecount numresults numberofresults numgenerations numvariations
  numpictures outputcount`.split(/\s+/),
);

/** Fields that imggen sets itself: another prompt would be paid for and lost. */
const SET_BY_IMGGEN: ReadonlySet<string> = new Set(
  "prompt model image images stream width height".split(" "),
);

/** An input of a workflow's node, by the node's id or title: `3.steps`, `Load Checkpoint.ckpt_name`. */
const NODE_INPUT = /^[^=]+\.[A-Za-z_]\w*$/u;

function isCount(name: string): boolean {
  return COUNTS.has(name.replace(/[_-]/g, "").toLowerCase());
}

/** The reason why a field cannot have this name or value, as a clause; null if it can. */
export function wrongField(name: string, value?: unknown): string | null {
  if (SET_BY_IMGGEN.has(name) || isCount(name)) return `${name} is set by imggen`;
  const count = findCount(value);
  if (count !== undefined) return `${count} in ${name} is set by imggen`;
  const isValid = /^[A-Za-z_][\w.-]*$/.test(name) || (NODE_INPUT.test(name) && !hasControlCharacter(name));
  // `__proto__` would be lost when the ledger is read.
  return isValid && name !== "__proto__" ? null : `${JSON.stringify(name)} is not a valid name`;
}

/** The name of a number of images within an object: `{"parameters": {"sampleCount": 4}}`. */
function findCount(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const count = Array.isArray(value) ? undefined : Object.keys(value).find(isCount);
  if (count !== undefined) return count;
  for (const each of Object.values(value)) {
    const count = findCount(each);
    if (count !== undefined) return count;
  }
  return undefined;
}
