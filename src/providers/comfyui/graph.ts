import { isJsonObject } from "../../lib/json.ts";

// A workflow in ComfyUI's API format, as other people write it: every part of it may be hostile.

/** A node as it is sent. */
export interface GraphNode {
  class_type: string;
  /** Values, and links to the outputs of other nodes. */
  inputs: Readonly<Record<string, unknown>>;
  _meta?: unknown;
}

/** The nodes of a workflow by their ids. */
export type Graph = ReadonlyMap<string, GraphNode>;

/** A link: the id of another node, and the number of one of its outputs. */
export type Link = readonly [string, number];

const MOST_NODES = 5_000;
const MOST_LEVELS = 16;
const LONGEST_NAME = 200;
const LONGEST_TITLE = 80;

/** Names that are no names of data in JavaScript. */
const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** How to get the right format from ComfyUI. */
export const EXPORT_HINT =
  'In ComfyUI, open it and choose Workflow > Export (API). Older versions have "Save (API format)" with the dev mode on.';

/** The nodes in a JSON value; in place of them a phrase that says what it is instead. */
export function graphIn(json: unknown): Graph | string {
  if (!isJsonObject(json)) return "is not a workflow in JSON";
  if (Array.isArray(json.nodes)) return "is in the editor's own format, which ComfyUI's API does not take";
  const entries = Object.entries(json);
  if (entries.length === 0) return "has no nodes";
  if (entries.length > MOST_NODES) return `has more than ${MOST_NODES} nodes`;
  const graph = new Map<string, GraphNode>();
  for (const [id, value] of entries) {
    const node = nodeIn(id, value);
    if (typeof node === "string") return node;
    graph.set(id, node);
  }
  return graph;
}

function nodeIn(id: string, value: unknown): GraphNode | string {
  if (RESERVED.has(id) || id.length > LONGEST_NAME) return "has a node whose id is not one of ComfyUI's";
  if (!isJsonObject(value) || typeof value.class_type !== "string")
    return `is not a workflow in API format: its entry ${JSON.stringify(id)} has no class_type`;
  const { class_type, inputs = {}, _meta } = value;
  if (class_type === "" || class_type.length > LONGEST_NAME) return `has a node ${id} without a class`;
  if (!isJsonObject(inputs) || Object.keys(inputs).some((name) => RESERVED.has(name)))
    return `has a node ${id} whose inputs are not ComfyUI's`;
  if (!isShallow(inputs, MOST_LEVELS) || !isShallow(_meta, MOST_LEVELS))
    return `has a node ${id} with values nested more than ${MOST_LEVELS} levels deep`;
  return { class_type, inputs, ...(_meta !== undefined && { _meta }) };
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}

export function isLink(value: unknown): value is Link {
  return (
    Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && typeof value[1] === "number"
  );
}

/** A node's title as it is shown in the editor; its class where it has none. */
export function titleOf({ class_type, _meta }: GraphNode): string {
  const title = isJsonObject(_meta) && typeof _meta.title === "string" ? _meta.title.trim() : "";
  return (title === "" ? class_type : title).slice(0, LONGEST_TITLE);
}

/** The title of the node whose image is the result. */
export const OUTPUT_TITLE = "output";

/** A node as a message names it: `"KSampler" (3)`. */
export function nodeName(id: string, node: GraphNode): string {
  return `${JSON.stringify(titleOf(node))} (${id})`;
}

/** The nodes that have this title, in any case. */
export function nodesTitled(graph: Graph, title: string): [string, GraphNode][] {
  const wanted = title.toLowerCase();
  return [...graph].filter(([, node]) => titleOf(node).toLowerCase() === wanted);
}

/** A workflow as it is sent. */
export function graphJson(graph: Graph): Record<string, GraphNode> {
  return Object.fromEntries(graph);
}
