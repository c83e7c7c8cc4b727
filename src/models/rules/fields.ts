import { MAX_SEED, nextSeed, parseSeed } from "../../lib/exact-integer.ts";
import { hasControlCharacter } from "../../lib/late-regex.ts";
import { describeSeedProblem } from "../../lib/whole-number.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { GeneratorFields } from "../../task/request.ts";
import type { FieldNames, InputFields, ProviderFields } from "../../task/request-fields.ts";
import { type Labels, leftOutWarning, type Refusal, type RuleInput, refuse } from "./rule.ts";

const FIELD_TEXTS = { seed: "a seed", negative: "a negative prompt" } as const;
const GENERATOR_FIELD_NAMES = ["seed", "negative", "fields"] as const;

/** Refuses generator-only fields, because the service would ignore them and make a different image. */
export function refuseGeneratorFields(
  subject: Pick<RuleInput, "input" | "labels" | "inherited">,
): Refusal | undefined {
  const { input, labels, inherited } = subject;
  const values = { ...input, fields: Object.keys(input.fields ?? {})[0] };
  const name = GENERATOR_FIELD_NAMES.find((each) => values[each] !== undefined);
  if (name === undefined) return undefined;
  const hint = inherited?.includes(name) ? "use imggen generate with the prompt" : "leave it out";
  return refuse(`${labels[name]} cannot be used: the service does not support it`, [
    `${hint}. Your own generator may support it.`,
    phrase`More: ${action("help", "generators")}`,
  ]);
}

export interface FieldTerms {
  /** Names of the generator's fields for a seed and a negative prompt. A field without a name is unsupported. */
  fieldNames: FieldNames;
  defaults: Pick<GeneratorFields, "fields">;
  savedFields: GeneratorFields;
}

/** Merges and sorts fields and defaults, so that equal requests have equal JSON. Omits unsupported saved values. */
export function generatorFields(
  input: GeneratorFields & Pick<InputFields, "maxImages">,
  { fieldNames, defaults, savedFields }: FieldTerms,
  labels: Labels,
): { fields: GeneratorFields; warnings: string[] } | Refusal {
  const { fields: requestFields = {} } = input;
  const [problem] = Object.entries(requestFields).flatMap(
    ([name, value]) => invalidFieldReason(name, value) ?? [],
  );
  if (problem !== undefined) return refuse(`${labels.fields}: ${problem}`, "leave it out", undefined);
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
  // Each further image has the next seed, because equal seeds make equal images.
  const furtherImages = (input.maxImages ?? 1) - 1;
  const seed = result.seed === undefined ? null : parseSeed(result.seed);
  if (result.seed !== undefined && seed === null)
    return refuse(`${labels.seed}${describeSeedProblem(result.seed)}`, "give another seed, or omit it");
  if (seed !== null && nextSeed(seed, furtherImages) === null)
    return refuse(
      `${labels.seed} is too large: each further image adds 1, and the largest seed is ${MAX_SEED}`,
      "give a smaller seed",
    );
  if (seed !== null) result.seed = seed;
  const sortedFields = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    fields: { ...result, fields: sortedFields.length > 0 ? Object.fromEntries(sortedFields) : undefined },
    warnings,
  };
}

/** Field names for the number of images. imggen sets the number, because a cap must count the price of each image. */
const COUNTS: ReadonlySet<string> = new Set(
  `n batchsize batchcount niter numoutputs numimages numimagesperprompt numberofimages imagecount imagescount nimages
  maximages candidatecount numsamples nsamples samplecount numresults numberofresults numgenerations numvariations
  numpictures outputcount`.split(/\s+/),
);

/** Fields that only imggen sets, because another value could cost money for a wrong or unreadable image. */
const SET_BY_IMGGEN: ReadonlySet<string> = new Set(
  "prompt model image images stream width height".split(" "),
);

/** Name of a workflow input: id or title of a node, and name of the node's input. Example: `3.steps`. */
const NODE_INPUT = /^[^=]+\.[A-Za-z_]\w*$/u;

function isCount(name: string): boolean {
  return COUNTS.has(name.replace(/[_-]/g, "").toLowerCase());
}

/** Returns a clause with the reason that a field is invalid, or null if its name and value are valid. */
export function invalidFieldReason(name: string, value?: unknown): string | null {
  if (SET_BY_IMGGEN.has(name) || isCount(name)) return `${name} is set by imggen`;
  const count = findCount(value);
  if (count !== undefined) return `${count} in ${name} is set by imggen`;
  const isValid = /^[A-Za-z_][\w.-]*$/.test(name) || (NODE_INPUT.test(name) && !hasControlCharacter(name));
  // Refuses `__proto__`, because a field with this name would be lost when the ledger is read.
  return isValid && name !== "__proto__" ? null : `${JSON.stringify(name)} is not a valid name`;
}

function findCount(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const count = Array.isArray(value) ? undefined : Object.keys(value).find(isCount);
  if (count !== undefined) return count;
  for (const nestedValue of Object.values(value)) {
    const count = findCount(nestedValue);
    if (count !== undefined) return count;
  }
  return undefined;
}
