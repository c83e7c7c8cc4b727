import { type ExactInteger, stringifyExact, toExactSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import type { JsonValue } from "../../lib/json.ts";
import { describeChoices, joinFirst, truncate } from "../../lib/short-text.ts";
import { pictureDimensions } from "../../models/dimensions.ts";
import type { Size } from "../../models/requested-size.ts";
import { type Job, unsendable } from "../provider.ts";
import { parseReportedSeeds } from "../seeds.ts";
import { type Graph, nodeName, nodesTitled } from "./graph.ts";
import { candidates, distinct, linkedInputs, type NodeInput, titledInputs } from "./node-inputs.ts";

/** A value for a workflow. */
type Value = JsonValue | ExactInteger;

/** A value, and its place in a workflow. */
export interface Placement extends NodeInput {
  value: Value;
}

/** The parts of a job that go into a workflow. */
type JobParts = Pick<Job, "request" | "options">;

/** The values of a job for a workflow, by name. */
interface JobValues {
  /** For placeholders: every value that there is. */
  values: ReadonlyMap<string, Value>;
  /** Values that must find a place. */
  requiredValues: ReadonlyMap<string, Value>;
  /** Names among these that may have no place: an upscaler has neither prompt nor seed. */
  optional: ReadonlySet<string>;
  /** Values that the user has set for one node's input: `3.steps`, `Title.steps`. */
  direct: readonly (readonly [string, Value])[];
}

/** Names that stand for a part of a job, beside the user's own fields. */
const NAMES = ["prompt", "negative", "width", "height", "seed", "image", "model", "steps"];

/** A field that sets a seed of one node: `3.seed`, `Noise.noise_seed`. */
const SEED_INPUT = /\.(?:noise_)?seed$/;

/**
 * The values of a job.
 * @param images names of its reference images at the server @param size null: it is not known yet
 * @param defaultSeed its seed, if it names none
 */
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
  // `image` is the first one, `image2` the second.
  for (const [at, image] of images.entries())
    requiredValues.set(at === 0 ? "image" : `image${at + 1}`, image);
  for (const [name, value] of Object.entries(fields))
    if (!isDirect([name, value])) requiredValues.set(name, value);
  // A negative prompt that is not there is empty.
  const values = new Map<string, Value>([
    ["negative", ""],
    ["width", width],
    ["height", height],
    ...requiredValues,
  ]);
  if (isSizeAsked(job)) requiredValues.set("width", width).set("height", height);
  return {
    values,
    requiredValues: requiredValues,
    // Without a reference image, a workflow that has no place for the prompt is a mistake.
    optional: new Set(images.length === 0 ? [] : seed === undefined ? ["prompt", "seed"] : ["prompt"]),
    direct: Object.entries(fields)
      .filter(isDirect)
      .map(([name, value]) => [name, SEED_INPUT.test(name) ? toExactSeed(value) : value] as const),
  };
}

/** Whether the user asks for a size: if not, that of the workflow itself stays. */
function isSizeAsked({ request: { ratio, quality }, options }: JobParts): boolean {
  if (ratio === "auto") return false;
  const usual = pictureDimensions(undefined, undefined);
  const isUsual = options.width === usual.width && options.height === usual.height;
  return ratio !== undefined || quality !== undefined || !isUsual;
}

/**
 * The places of all values, by the first rule that applies: placeholders, then titles of nodes, then the links of the graph;
 * last what the user has set for one node's input. Nothing is guessed between two.
 * @returns `unplaced`: the optional names without a place; `seed`: the one that makes the image, null for none or several
 * @throws ProviderError if something has no place, or more than one
 */
export function placementsIn(
  graph: Graph,
  { values, requiredValues, optional, direct }: JobValues,
): { placements: Placement[]; unplaced: string[]; seed: WholeNumber | null } {
  const { filled, names, seedInputs } = filledPlaceholders(graph, values);
  const hasInput = (name: string) =>
    [titledInputs, linkedInputs, candidates].some((find) => find(graph, name).length > 0);
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

/** The seed that is at all of some places in the end; null if it is not one. */
function commonSeed(placements: readonly Placement[], nodeInputs: readonly NodeInput[]): WholeNumber | null {
  const isAt = ({ id, input }: NodeInput) =>
    nodeInputs.some((each) => each.id === id && each.input === input);
  const seeds = new Set(placements.filter(isAt).map(({ value }) => parseReportedSeeds(value)?.[0] ?? null));
  const [seed = null, ...others] = seeds;
  return others.length === 0 ? seed : null;
}

/** A workflow with everything in its place. */
export function fillWorkflow(graph: Graph, placements: readonly Placement[]): Graph {
  const result = new Map(graph);
  for (const { id, input, value } of placements) {
    const node = result.get(id);
    if (node !== undefined) result.set(id, { ...node, inputs: { ...node.inputs, [input]: value } });
  }
  return result;
}

const MAX_SHOWN = 200;

/** Each value and its place as a line: `node 3 "Sampler" (KSampler).seed = 7`. */
export function placementLines(graph: Graph, placements: readonly Placement[]): string[] {
  return placements.map(({ id, input, value }) => {
    const text = truncate(stringifyExact(value), MAX_SHOWN);
    return `node ${nameAt(graph, id)} (${graph.get(id)?.class_type}).${input} = ${text}`;
  });
}

function nameAt(graph: Graph, id: string): string {
  const node = graph.get(id);
  return node ? nodeName(id, node) : id;
}

/** The texts of a workflow with their placeholders filled, and the names that were among them. @throws ProviderError */
function filledPlaceholders(graph: Graph, values: ReadonlyMap<string, Value>) {
  const namePatterns = [...new Set([...NAMES, ...values.keys()])].map((name) =>
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
      if (value === undefined) throw missingValue(name, nameAt(graph, id));
      names.add(name);
      return value;
    };
    for (const [input, text] of Object.entries(inputs)) {
      const [first] = typeof text === "string" ? text.matchAll(pattern) : [];
      if (typeof text !== "string" || first === undefined) continue;
      // A placeholder alone becomes a number if its value is one.
      const value =
        first[0] === text
          ? matchedValue(first)
          : text.replace(pattern, (...match) => toText(matchedValue(match)));
      filled.push({ id, input, value });
      if (first[0] === text && (first[1] ?? first[2]) === "seed") seedInputs.push({ id, input });
    }
  }
  return { filled, names, seedInputs: seedInputs };
}

/** A value within a text. */
function toText(value: Value): string {
  return typeof value === "object" ? stringifyExact(value) : String(value);
}

function missingValue(name: string, node: string) {
  const optionName = name === "image" || name === "model" ? `the option ${name}` : `the field ${name}`;
  return unsendable(
    `The workflow has {${name}} in the node ${node}, and there is no value for it: add ${optionName}.`,
  );
}

/** The places of a name; several only if several nodes have it as their title. @throws ProviderError */
function findInputs(graph: Graph, name: string): NodeInput[] {
  const titled = titledInputs(graph, name);
  const isClear = new Set(titled.map(({ id }) => id)).size === titled.length;
  const nodeInputs = titled.length > 0 ? titled : linkedInputs(graph, name);
  if (nodeInputs === titled ? isClear : nodeInputs.length === 1) return nodeInputs;
  const possible = listInputs(graph, nodeInputs.length > 1 ? nodeInputs : candidates(graph, name));
  const could = possible === "" ? "" : `: it could be ${possible}`;
  const what =
    nodeInputs.length > 1 ? `${nodeInputs.length} places for` : `no ${could && "certain "}place for`;
  throw unsendable(
    `The workflow has ${what} ${name}${could}. Give the right node the title "${name}" in ComfyUI, or write {${name}} there, and export it again.`,
  );
}

const MAX_LISTED = 8;

function listInputs(graph: Graph, nodeInputs: readonly NodeInput[]): string {
  return joinFirst(
    nodeInputs.map(({ id, input }) => `${nameAt(graph, id)}.${input}`),
    MAX_LISTED,
  );
}

/** A place for two values cannot be right for both: a negative prompt that leads to the prompt's own node. */
function requireDistinct(graph: Graph, nodeInputs: readonly (NodeInput & { name: string })[]): void {
  for (const [at, { id, input, name }] of nodeInputs.entries()) {
    const other = nodeInputs.slice(0, at).find((each) => each.id === id && each.input === input);
    if (other !== undefined)
      throw unsendable(
        `The workflow has one place for ${other.name} and ${name}, ${listInputs(graph, [other])}. Give each a node of its own with that title in ComfyUI, and export it again.`,
      );
  }
}

/** The input that a field such as `3.steps` or `Title.steps` names. @throws ProviderError */
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
      `The workflow has ${nodeIds.length} nodes with the title ${quotedTitle}: use an id, ${ids}.`,
    );
  }
  const inputs = graph.get(id)?.inputs ?? {};
  if (!Object.hasOwn(inputs, input))
    throw unsendable(
      `The node ${nameAt(graph, id)} has no input ${input} (field ${field}). ${describeChoices(Object.keys(inputs))}.`,
    );
  return { id, input };
}
