import { isJsonObject } from "../../lib/json.ts";

// Workflows in ComfyUI's API format. Every part is checked, because a workflow can come from an untrusted author.

export interface GraphNode {
  class_type: string;
  /** Values, and links to the outputs of other nodes. */
  inputs: Readonly<Record<string, unknown>>;
  _meta?: unknown;
}

export type Graph = ReadonlyMap<string, GraphNode>;

/** Id of another node, and index of its output. */
export type Link = readonly [string, number];

const MAX_NODES = 5_000;
const MAX_LEVELS = 16;
const MAX_NAME = 200;
const MAX_TITLE = 80;

/** Keys with a special meaning in JavaScript objects. */
const RESERVED: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export const EXPORT_HINT =
  'In ComfyUI, open the workflow and choose Workflow > Export (API). In older versions, enable the dev mode and choose "Save (API format)".';

/** Returns the nodes of a JSON value, or a phrase such as "has no nodes" if the value is not a workflow. */
export function graphIn(json: unknown): Graph | string {
  if (!isJsonObject(json)) return "is not a workflow in JSON";
  if (Array.isArray(json.nodes))
    return "is in the format of ComfyUI's editor, which ComfyUI's API does not support";
  const entries = Object.entries(json);
  if (entries.length === 0) return "has no nodes";
  if (entries.length > MAX_NODES) return `has more than ${MAX_NODES} nodes`;
  const graph = new Map<string, GraphNode>();
  for (const [id, value] of entries) {
    const node = nodeIn(id, value);
    if (typeof node === "string") return node;
    graph.set(id, node);
  }
  return graph;
}

function nodeIn(id: string, value: unknown): GraphNode | string {
  if (RESERVED.has(id) || id.length > MAX_NAME) return "has a node with an invalid id";
  if (!isJsonObject(value) || typeof value.class_type !== "string")
    return `is not a workflow in API format: its entry ${JSON.stringify(id)} has no class_type`;
  const { class_type, inputs = {}, _meta } = value;
  if (class_type === "" || class_type.length > MAX_NAME) return `has a node ${id} without a class`;
  if (!isJsonObject(inputs) || Object.keys(inputs).some((name) => RESERVED.has(name)))
    return `has a node ${id} with invalid inputs`;
  if (!isShallow(inputs, MAX_LEVELS) || !isShallow(_meta, MAX_LEVELS))
    return `has a node ${id} with values nested more than ${MAX_LEVELS} levels deep`;
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

export function nodeTitle({ class_type, _meta }: GraphNode): string {
  const title = isJsonObject(_meta) && typeof _meta.title === "string" ? _meta.title.trim() : "";
  return (title === "" ? class_type : title).slice(0, MAX_TITLE);
}

/** Title of the node with the resulting image. */
export const OUTPUT_TITLE = "output";

/** Formats a node for messages: `"KSampler" (3)`. */
export function nodeName(id: string, node: GraphNode): string {
  return `${JSON.stringify(nodeTitle(node))} (${id})`;
}

export function nodesTitled(graph: Graph, title: string): [string, GraphNode][] {
  const lowerTitle = title.toLowerCase();
  return [...graph].filter(([, node]) => nodeTitle(node).toLowerCase() === lowerTitle);
}

export const DEFAULT_WORKFLOW: Graph = new Map([
  ["1", { class_type: "CheckpointLoaderSimple", inputs: { ckpt_name: "{model}" } }],
  ["2", { class_type: "CLIPTextEncode", inputs: { text: "{prompt}", clip: ["1", 1] } }],
  ["3", { class_type: "CLIPTextEncode", inputs: { text: "{negative}", clip: ["1", 1] } }],
  ["4", { class_type: "EmptyLatentImage", inputs: { width: "{width}", height: "{height}", batch_size: 1 } }],
  [
    "5",
    {
      class_type: "KSampler",
      inputs: {
        seed: "{seed}",
        steps: 20,
        cfg: 8,
        sampler_name: "euler",
        scheduler: "normal",
        denoise: 1,
        model: ["1", 0],
        positive: ["2", 0],
        negative: ["3", 0],
        latent_image: ["4", 0],
      },
    },
  ],
  ["6", { class_type: "VAEDecode", inputs: { samples: ["5", 0], vae: ["1", 2] } }],
  ["7", { class_type: "SaveImage", inputs: { filename_prefix: "imggen", images: ["6", 0] } }],
]);
