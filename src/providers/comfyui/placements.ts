import { stringifyExact } from "../../lib/exact-integer.ts";
import { listed, shortened } from "../../lib/short-text.ts";
import { type ProviderError, unsendable } from "../provider.ts";
import { type Graph, type GraphNode, nodeName, nodesTitled } from "./graph.ts";
import { candidates, linkedPlaces, type Place, titledPlaces } from "./places.ts";
import { NAMES, type Value, type Wanted } from "./wanted.ts";

/** What goes where in a workflow. */
export interface Placement extends Place {
  value: Value;
}

/**
 * Where everything goes, by the first rule that applies: placeholders, then titles of nodes, then the links of the graph;
 * last what the user has set of one node's input. Nothing is guessed between two.
 * @throws ProviderError where something has no place, or more than one
 */
export function placementsIn(graph: Graph, wanted: Wanted): Placement[] {
  const filled = filledPlaceholders(graph, wanted.values);
  const found = [...wanted.needed]
    .filter((name) => !filled.names.has(name) && !(wanted.optional.has(name) && hasNoPlace(graph, name)))
    .flatMap((name) =>
      placesOf(graph, name).map((place) => ({ ...place, value: valueFor(wanted, name), name })),
    );
  requireDistinct(graph, found);
  const direct = wanted.direct.map(([name, value]) => ({ ...directPlace(graph, name), value }));
  const all = [...filled.placements, ...found, ...direct];
  const last = new Map(
    all.map(({ id, input, value }) => [JSON.stringify([id, input]), { id, input, value }]),
  );
  return [...last.values()];
}

/** Whether nothing in a workflow could be what a name stands for. */
export function hasNoPlace(graph: Graph, name: string): boolean {
  const places = [titledPlaces, linkedPlaces, candidates].flatMap((find) => find(graph, name));
  const isPlaceholder = ({ inputs }: GraphNode) =>
    Object.values(inputs).some(
      (text) => typeof text === "string" && (text.includes(`{${name}}`) || text.includes(`%${name}%`)),
    );
  return places.length === 0 && ![...graph.values()].some(isPlaceholder);
}

/** A workflow with everything in its place. */
export function placed(graph: Graph, placements: readonly Placement[]): Graph {
  const result = new Map(graph);
  for (const { id, input, value } of placements) {
    const node = result.get(id);
    if (node !== undefined) result.set(id, { ...node, inputs: { ...node.inputs, [input]: value } });
  }
  return result;
}

const LONGEST_SHOWN = 200;

/** What goes where, a line each: `node 3 "Sampler" (KSampler).seed = 7`. */
export function placementLines(graph: Graph, placements: readonly Placement[]): string[] {
  return placements.map(({ id, input, value }) => {
    const node = graph.get(id);
    const shown = shortened(stringifyExact(value), LONGEST_SHOWN);
    return `node ${node ? nodeName(id, node) : id} (${node?.class_type}).${input} = ${shown}`;
  });
}

/** The texts of a workflow with their placeholders filled, and the names that were among them. */
function filledPlaceholders(
  graph: Graph,
  values: ReadonlyMap<string, Value>,
): { placements: Placement[]; names: Set<string> } {
  const placeholders = [...new Set([...NAMES, ...values.keys()])].map((name) =>
    name.replace(/[^\w-]/g, "\\$&"),
  );
  const pattern = new RegExp(`\\{(${placeholders.join("|")})\\}|%(${placeholders.join("|")})%`, "g");
  const placements: Placement[] = [];
  const names = new Set<string>();
  const valueAt = (name: string, id: string, node: GraphNode) => {
    const value = values.get(name);
    if (value === undefined) throw missingValue(name, nodeName(id, node));
    names.add(name);
    return value;
  };
  for (const [id, node] of graph) {
    for (const [input, text] of Object.entries(node.inputs)) {
      if (typeof text !== "string") continue;
      const matches = [...text.matchAll(pattern)];
      const [whole, braced, percent] = matches[0] ?? [];
      if (whole === undefined) continue;
      const value =
        whole === text
          ? valueAt(braced ?? percent ?? "", id, node)
          : text.replace(pattern, (_whole, braces, percents) =>
              textOf(valueAt(braces ?? percents, id, node)),
            );
      placements.push({ id, input, value });
    }
  }
  return { placements, names };
}

/** A value within a text. */
function textOf(value: Value): string {
  return typeof value === "object" ? stringifyExact(value) : String(value);
}

const FLAGS: ReadonlyMap<string, string> = new Map([
  ["image", "--image"],
  ["model", "--model"],
]);

function missingValue(name: string, node: string): ProviderError {
  const flag = FLAGS.get(name) ?? `--field ${name}=<value>`;
  return unsendable(
    `The workflow has {${name}} in the node ${node}, and there is no value for it: add ${flag}.`,
  );
}

/** The places of a name; several only where several nodes have it as their title. @throws ProviderError */
function placesOf(graph: Graph, name: string): Place[] {
  const titled = titledPlaces(graph, name);
  if (titled.length > 0) {
    const nodes = new Set(titled.map(({ id }) => id));
    if (nodes.size < titled.length) throw unclear(graph, name, titled);
    return titled;
  }
  const linked = linkedPlaces(graph, name);
  if (linked.length !== 1) throw unclear(graph, name, linked);
  return linked;
}

function unclear(graph: Graph, name: string, found: readonly Place[]): ProviderError {
  const listed = listOf(graph, found.length > 1 ? found : candidates(graph, name));
  const could = listed === "" ? "" : `: it could be ${listed}`;
  const what = found.length > 1 ? `${found.length} places for` : `no ${could && "certain "}place for`;
  return unsendable(
    `The workflow has ${what} ${name}${could}. Give the right node the title "${name}" in ComfyUI, or write {${name}} there, and export it again.`,
  );
}

const MOST_LISTED = 8;

function listOf(graph: Graph, places: readonly Place[]): string {
  const names = places.map(({ id, input }) => {
    const node = graph.get(id);
    return `${node ? nodeName(id, node) : id}.${input}`;
  });
  return listed(names, MOST_LISTED);
}

/** A place that two values are meant for cannot be right for both: a negative prompt that leads to the prompt's own node. */
function requireDistinct(graph: Graph, found: readonly (Place & { name: string })[]): void {
  const taken = new Map<string, string>();
  for (const { id, input, name } of found) {
    const key = JSON.stringify([id, input]);
    const other = taken.get(key);
    if (other !== undefined)
      throw unsendable(
        `The workflow has one place for ${other} and ${name}, ${listOf(graph, [{ id, input }])}. Give each a node of its own with that title in ComfyUI, and export it again.`,
      );
    taken.set(key, name);
  }
}

/** The input that a field such as `3.steps` or `Title.steps` names. @throws ProviderError */
function directPlace(graph: Graph, field: string): Place {
  const at = field.lastIndexOf(".");
  const [node, input] = [field.slice(0, at), field.slice(at + 1)];
  const byId = graph.get(node);
  const found: [string, GraphNode][] = byId === undefined ? nodesTitled(graph, node) : [[node, byId]];
  const [first, ...more] = found;
  if (first === undefined)
    throw unsendable(
      `The workflow has no node with the id or the title ${JSON.stringify(node)} (field ${field}).`,
    );
  if (more.length > 0)
    throw unsendable(
      `The workflow has ${found.length} nodes with the title ${JSON.stringify(node)} (field ${field}): use an id, ${found.map(([id]) => `${id}.${input}`).join(" or ")}.`,
    );
  const [id, { inputs }] = first;
  if (!Object.hasOwn(inputs, input))
    throw unsendable(
      `The node ${nodeName(...first)} has no input ${input} (field ${field}). It has: ${Object.keys(inputs).join(", ")}.`,
    );
  return { id, input };
}

function valueFor({ values }: Wanted, name: string): Value {
  const value = values.get(name);
  if (value === undefined) throw new TypeError(`there is no value for ${name}`);
  return value;
}
