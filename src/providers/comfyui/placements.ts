import { type ExactInteger, stringifyExact, toExactSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import type { JsonValue } from "../../lib/json.ts";
import { describeChoices, joinFirst, truncate } from "../../lib/short-text.ts";
import { pictureDimensions } from "../../models/dimensions.ts";
import type { Size } from "../../models/requested-size.ts";
import { type Job, unsendable } from "../provider.ts";
import { parseReportedSeeds } from "../seeds.ts";
import { type Graph, nodeName, nodesTitled } from "./graph.ts";
import { distinct, linkedInputs, type NodeInput, possibleInputs, titledInputs } from "./node-inputs.ts";

type Value = JsonValue | ExactInteger;

export interface Placement extends NodeInput {
  value: Value;
}

type JobParts = Pick<Job, "request" | "options">;

interface JobValues {
  /** All values, which replace placeholders such as `{seed}`. */
  values: ReadonlyMap<string, Value>;
  /** Values for which the workflow must have an input. */
  requiredValues: ReadonlyMap<string, Value>;
  /** Names in `requiredValues` for which no input is needed, because an upscaling workflow has no prompt or seed. */
  optional: ReadonlySet<string>;
  /** Fields for one input of one node: `3.steps`, `Title.steps`. */
  direct: readonly (readonly [string, Value])[];
}

/** Names of the built-in placeholders. The names of the user's fields are placeholders too. */
const PLACEHOLDER_NAMES = ["prompt", "negative", "width", "height", "seed", "image", "model", "steps"];

/** Matches fields that set the seed of one node: `3.seed`, `Noise.noise_seed`. */
const SEED_INPUT = /\.(?:noise_)?seed$/;

/** @param images names at the server @param size null if unknown @param defaultSeed for a request without a seed */
export function jobValues(
  job: JobParts,
  images: readonly string[],
  size: Size,
  defaultSeed: Value,
): JobValues {
  const { request, options } = job;
  const { seed, negative_prompt: other, negative = other, ...fields } = options.fields;
  const { model } = options;
  const [width, height] = [size?.width ?? "<width>", size?.height ?? "<height>"];
  const isDirect = ([name]: [string, Value]) => name.includes(".");
  const requiredValues = new Map<string, Value>([
    ["prompt", request.prompt],
    ["seed", toExactSeed(seed ?? defaultSeed)],
  ]);
  if (negative !== undefined) requiredValues.set("negative", negative);
  if (model !== null) requiredValues.set("model", model);
  for (const [at, image] of images.entries())
    requiredValues.set(at === 0 ? "image" : `image${at + 1}`, image);
  for (const [name, value] of Object.entries(fields))
    if (!isDirect([name, value])) requiredValues.set(name, value);
  const values = new Map<string, Value>([
    ["negative", ""],
    ["width", width],
    ["height", height],
    ...requiredValues,
  ]);
  if (isSizeRequested(job)) requiredValues.set("width", width).set("height", height);
  return {
    values,
    requiredValues,
    // Without a reference image, only the prompt determines the image, so the workflow must have an input for it.
    optional: new Set(images.length === 0 ? [] : seed === undefined ? ["prompt", "seed"] : ["prompt"]),
    direct: Object.entries(fields)
      .filter(isDirect)
      .map(([name, value]) => [name, SEED_INPUT.test(name) ? toExactSeed(value) : value] as const),
  };
}

/** Whether the user requests a size. Otherwise, the workflow's size is used. */
function isSizeRequested({ request: { ratio, quality }, options }: JobParts): boolean {
  if (ratio === "auto") return false;
  const usual = pictureDimensions(undefined, undefined);
  const isUsual = options.width === usual.width && options.height === usual.height;
  return ratio !== undefined || quality !== undefined || !isUsual;
}

/**
 * Assigns each value to its placeholders, otherwise to the nodes with its title, otherwise to the linked input. Fields
 * for one node's input override all other values.
 * @returns `unplaced`: optional names without an input @throws ProviderError if an input is missing or uncertain
 */
export function assignInputs(
  graph: Graph,
  { values, requiredValues, optional, direct }: JobValues,
): { placements: Placement[]; unplaced: string[]; seed: WholeNumber | null } {
  const { filled, names, seedInputs } = fillPlaceholders(graph, values);
  const hasInput = (name: string) =>
    [titledInputs, linkedInputs, possibleInputs].some((find) => find(graph, name).length > 0);
  const unfilled = [...requiredValues].filter(([name]) => !names.has(name));
  const unplaced = unfilled.map(([name]) => name).filter((name) => optional.has(name) && !hasInput(name));
  const matches = unfilled
    .filter(([name]) => !unplaced.includes(name))
    .flatMap(([name, value]) => findInputs(graph, name).map((nodeInput) => ({ ...nodeInput, name, value })));
  requireDistinct(graph, matches);
  const set = direct.map(([name, value]) => ({ ...findDirectInput(graph, name), value }));
  const all = [...filled, ...matches.map(({ id, input, value }) => ({ id, input, value })), ...set];
  const placements = distinct(all);
  const seeds = [
    ...seedInputs,
    ...matches.filter(({ name }) => name === "seed"),
    ...set.filter(({ input }) => SEED_INPUT.test(`.${input}`)),
  ];
  return { placements, unplaced, seed: commonSeed(placements, seeds) };
}

/** Returns null if the inputs get several seeds, or no seed. */
function commonSeed(placements: readonly Placement[], nodeInputs: readonly NodeInput[]): WholeNumber | null {
  const isAt = ({ id, input }: NodeInput) =>
    nodeInputs.some((each) => each.id === id && each.input === input);
  const seeds = new Set(placements.filter(isAt).map(({ value }) => parseReportedSeeds(value)?.[0] ?? null));
  const [seed = null, ...others] = seeds;
  return others.length === 0 ? seed : null;
}

export function fillWorkflow(graph: Graph, placements: readonly Placement[]): Graph {
  const result = new Map(graph);
  for (const { id, input, value } of placements) {
    const node = result.get(id);
    if (node !== undefined) result.set(id, { ...node, inputs: { ...node.inputs, [input]: value } });
  }
  return result;
}

const MAX_SHOWN = 200;

/** Formats each placement: `node 3 "Sampler" (KSampler).seed = 7`. */
export function formatPlacements(graph: Graph, placements: readonly Placement[]): string[] {
  return placements.map(({ id, input, value }) => {
    const text = truncate(stringifyExact(value), MAX_SHOWN);
    return `node ${nodeNameById(graph, id)} (${graph.get(id)?.class_type}).${input} = ${text}`;
  });
}

function nodeNameById(graph: Graph, id: string): string {
  const node = graph.get(id);
  return node ? nodeName(id, node) : id;
}

/** @throws ProviderError if a placeholder has no value */
function fillPlaceholders(graph: Graph, values: ReadonlyMap<string, Value>) {
  const namePatterns = [...new Set([...PLACEHOLDER_NAMES, ...values.keys()])].map((name) =>
    name.replace(/[^\w-]/g, "\\$&"),
  );
  const pattern = new RegExp(`\\{(${namePatterns.join("|")})\\}|%(${namePatterns.join("|")})%`, "g");
  const filled: Placement[] = [];
  const seedInputs: NodeInput[] = [];
  const names = new Set<string>();
  for (const [id, { inputs }] of graph) {
    const matchedValue = ([, braced, percent]: readonly string[]): Value => {
      const name = braced ?? percent ?? "";
      const value = values.get(name);
      if (value === undefined) throw missingValue(name, nodeNameById(graph, id));
      names.add(name);
      return value;
    };
    for (const [input, text] of Object.entries(inputs)) {
      const [first] = typeof text === "string" ? text.matchAll(pattern) : [];
      if (typeof text !== "string" || first === undefined) continue;
      // A text that consists of one placeholder is replaced by the value itself, which can be a number.
      const value =
        first[0] === text
          ? matchedValue(first)
          : text.replace(pattern, (...match) => toText(matchedValue(match)));
      filled.push({ id, input, value });
      if (first[0] === text && (first[1] ?? first[2]) === "seed") seedInputs.push({ id, input });
    }
  }
  return { filled, names, seedInputs };
}

function toText(value: Value): string {
  return typeof value === "object" ? stringifyExact(value) : String(value);
}

function missingValue(name: string, node: string) {
  const optionName = name === "image" || name === "model" ? `the option ${name}` : `the field ${name}`;
  return unsendable(
    `The workflow has {${name}} in the node ${node}, but the request has no value for {${name}}: add ${optionName}.`,
  );
}

/** Returns the input for a name, or one input of each node with this title. @throws ProviderError for other results */
function findInputs(graph: Graph, name: string): NodeInput[] {
  const titled = titledInputs(graph, name);
  const hasOneInputPerNode = new Set(titled.map(({ id }) => id)).size === titled.length;
  const nodeInputs = titled.length > 0 ? titled : linkedInputs(graph, name);
  if (nodeInputs === titled ? hasOneInputPerNode : nodeInputs.length === 1) return nodeInputs;
  const possible = listInputs(graph, nodeInputs.length > 1 ? nodeInputs : possibleInputs(graph, name));
  const count = nodeInputs.length > 1 ? `${nodeInputs.length} possible inputs` : "only uncertain inputs";
  const problem = possible === "" ? `no input for ${name}` : `${count} for ${name}: ${possible}`;
  throw unsendable(
    `The workflow has ${problem}. In ComfyUI, give the right node the title "${name}", or write {${name}} into its input, and export the workflow again.`,
  );
}

const MAX_LISTED = 8;

function listInputs(graph: Graph, nodeInputs: readonly NodeInput[]): string {
  return joinFirst(
    nodeInputs.map(({ id, input }) => `${nodeNameById(graph, id)}.${input}`),
    MAX_LISTED,
  );
}

/** @throws ProviderError if two values get the same input, such as a prompt and a negative prompt in one node */
function requireDistinct(graph: Graph, nodeInputs: readonly (NodeInput & { name: string })[]): void {
  for (const [at, { id, input, name }] of nodeInputs.entries()) {
    const other = nodeInputs.slice(0, at).find((each) => each.id === id && each.input === input);
    if (other !== undefined)
      throw unsendable(
        `The workflow has only one input for ${other.name} and ${name}: ${listInputs(graph, [other])}. In ComfyUI, make a node for each, titled "${other.name}" and "${name}", and export the workflow again.`,
      );
  }
}

/** @param field `3.steps`, `Title.steps` @throws ProviderError */
function findDirectInput(graph: Graph, field: string): NodeInput {
  const at = field.lastIndexOf(".");
  const [title, input] = [field.slice(0, at), field.slice(at + 1)];
  const nodeIds = graph.has(title) ? [title] : nodesTitled(graph, title).map(([id]) => id);
  const [id, ...more] = nodeIds;
  const quotedTitle = `${JSON.stringify(title)} (field ${field})`;
  if (id === undefined) throw unsendable(`The workflow has no node with the id or the title ${quotedTitle}.`);
  if (more.length > 0) {
    const ids = nodeIds.map((each) => `${each}.${input}`).join(" or ");
    throw unsendable(
      `The workflow has ${nodeIds.length} nodes with the title ${quotedTitle}. Use an id: ${ids}.`,
    );
  }
  const inputs = graph.get(id)?.inputs ?? {};
  if (!Object.hasOwn(inputs, input))
    throw unsendable(
      `The node ${nodeNameById(graph, id)} has no input ${input} (field ${field}). ${describeChoices(Object.keys(inputs))}.`,
    );
  return { id, input };
}
