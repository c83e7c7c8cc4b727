import type { OwnFields } from "../../task/request.ts";
import type { FieldNames, GivenFields, ProviderFields } from "../../task/request-fields.ts";
import { type Labels, type Refusal, type RuleInput, refuse } from "./rule.ts";

// The generator-only fields of a request: a seed, a negative prompt, and fields under the generator's own names.

const WORDS = { seed: "a seed", negative: "a negative prompt", fields: "fields of one's own" } as const;
const NAMES = ["seed", "negative", "fields"] as const;

/** The service's document has none of them. A service that ignored one would make another image than requested. */
export function ofGeneratorAlone(
  subject: Pick<RuleInput, "input" | "labels" | "inherited">,
): Refusal | undefined {
  const { input, labels, inherited } = subject;
  const isGiven = { ...input, fields: Object.keys(input.fields ?? {})[0] };
  const name = NAMES.find((each) => isGiven[each] !== undefined);
  if (name === undefined) return undefined;
  const hint = inherited?.includes(name) ? "give the prompt to imggen generate" : "leave it out";
  return refuse(
    `${labels[name]} cannot be used: the service's document has no place for ${WORDS[name]}`,
    `${hint}; your own generator may take it: imggen help generators`,
  );
}

/** A generator's terms for these fields. */
export interface FieldTerms {
  /** The names of its fields for a seed and a negative prompt; absent: it has no such field. */
  fieldNames: FieldNames;
  /** Defaults of requests. */
  defaults: OwnFields;
}

/**
 * The generator-only fields of a request, with the defaults of the generator. A field that the request names wins over its
 * seed or negative prompt, and those win over default fields.
 * @returns fields in the order of their names, so that equal requests are equal; or what is wrong
 */
export function ownFields(
  input: OwnFields & Pick<GivenFields, "maxImages">,
  { fieldNames, defaults }: FieldTerms,
  labels: Labels,
): OwnFields | Refusal {
  const { fields: named = {} } = input;
  const wrong = Object.keys(named).find((name) => wrongFieldName(name) !== null);
  if (wrong !== undefined)
    return refuse(`${labels.fields}: ${wrongFieldName(wrong)}`, "leave it out", undefined);
  const fields: Record<string, ProviderFields[string]> = { ...defaults.fields, ...named };
  const result: OwnFields = {};
  for (const name of ["seed", "negative"] as const) {
    const value = input[name] ?? defaults[name];
    const field = fieldNames[name];
    if (value === undefined) continue;
    if (field === undefined)
      return refuse(
        `${input[name] === undefined ? `the setting ${name}` : labels[name]} cannot be used: this generator has no field for ${WORDS[name]}`,
        "leave it out; which generators have one: imggen help generators",
      );
    if (Object.hasOwn(named, field)) continue;
    delete fields[field];
    Object.assign(result, { [name]: value });
  }
  // Beyond, two images would have one number, and be the same.
  const further = (input.maxImages ?? 1) - 1;
  if (!Number.isSafeInteger((result.seed ?? 0) + further))
    return refuse(
      `${labels.seed} is too large: each further image has the next number`,
      "give a smaller one",
    );
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...result, fields: sorted.length > 0 ? Object.fromEntries(sorted) : undefined };
}

/** How the services call the number of images. Each has a price, so that a cap must know how many there are. */
const COUNTS =
  "n batch_size n_iter num_outputs num_images num_images_per_prompt number_of_images max_images candidateCount candidate_count";

/** Fields that imggen sets itself: a second image, or another prompt, would be paid for and lost. */
const SET_BY_IMGGEN: ReadonlySet<string> = new Set(
  `prompt model image images stream width height ${COUNTS}`.split(" "),
);

/** An input of a node of a workflow, by the node's id or title: `3.steps`, `Load Checkpoint.ckpt_name`. */
const OF_A_NODE = /^[^\p{Cc}=]+\.[A-Za-z_]\w*$/u;

/** Why no field can have this name, as a sentence without its full stop; null if one can. */
export function wrongFieldName(name: string): string | null {
  if (SET_BY_IMGGEN.has(name)) return `${name} is set by imggen`;
  const isValid = /^[A-Za-z_][\w.-]*$/.test(name) || OF_A_NODE.test(name);
  // The ledger's reader drops it.
  return isValid && name !== "__proto__" ? null : `${JSON.stringify(name)} is not a valid name`;
}
