import { ExactInteger } from "../../lib/exact-integer.ts";
import { type Graph, type GraphNode, isLink, type Link, nodesTitled } from "./graph.ts";

export interface NodeInput {
  id: string;
  input: string;
}

/** Common names of node inputs, by the name of the value that they get. */
const COMMON_INPUTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["prompt", ["text", "prompt", "string", "value"]],
  ["negative", ["text", "negative_prompt", "prompt", "string", "value"]],
  ["seed", ["seed", "noise_seed", "value"]],
  ["model", ["ckpt_name", "unet_name", "model_name", "value"]],
]);
const IMAGE = /^image\d*$/;

function inputsFor(name: string): readonly string[] {
  return COMMON_INPUTS.get(name) ?? [IMAGE.test(name) ? "image" : name, "value"];
}

/** Returns inputs with a common name for the value, otherwise the node's only input that is not a link. */
export function titledInputs(graph: Graph, name: string): NodeInput[] {
  return nodesTitled(graph, name).flatMap(([id, { inputs }]) => {
    const free = Object.keys(inputs).filter((input) => !isLink(inputs[input]));
    const usual = inputsFor(name).filter((input) => free.includes(input));
    return (usual.length > 0 || free.length > 1 ? usual : free).map((input) => ({ id, input }));
  });
}

/** Finds inputs for a value by the links of the graph. Several results mean that the right input is unknown. */
export function linkedInputs(graph: Graph, name: string): NodeInput[] {
  switch (name) {
    case "image":
      return findValues(graph, ["image"], "string").filter(
        ({ id }) => graph.get(id)?.class_type === "LoadImage",
      );
    case "prompt": {
      const prompts = followSamplers(graph, "positive", visitTexts("positive"));
      // If no sampler is linked to a text, all texts are returned, because a single text must be the prompt.
      return prompts.length > 0 ? prompts : findValues(graph, ["text", "prompt"], "string");
    }
    case "negative":
      return followSamplers(graph, "negative", visitTexts("negative"));
    case "seed": {
      const seeds = samplers(graph).flatMap(([id]) => numbersAt(graph, id, SEEDS));
      return seeds.length > 0 ? distinct(seeds) : findValues(graph, SEEDS, "number");
    }
    case "width":
    case "height":
      return followSamplers(graph, "latent_image", visitSizes(graph, name));
    case "model":
      return findValues(graph, ["ckpt_name"], "string");
    default:
      if (IMAGE.test(name)) return [];
      return samplers(graph).flatMap(([id, { inputs }]) =>
        Object.hasOwn(inputs, name) && !isLink(inputs[name]) ? [{ id, input: name }] : [],
      );
  }
}

/** Returns all inputs that might be right for a value, as suggestions in a message. */
export function possibleInputs(graph: Graph, name: string): NodeInput[] {
  const isText = name === "prompt" || name === "negative";
  const usual = inputsFor(name).filter((input) => input !== "value");
  return findValues(graph, usual, isText ? "string" : null);
}

const SEEDS = ["seed", "noise_seed"];
const TEXTS = ["text", "prompt", "string", "value"];

/** Returns the nodes that generate an image from a prompt. */
function samplers(graph: Graph): [string, GraphNode][] {
  return [...graph].filter(
    ([, { inputs }]) => isLink(inputs.positive) && SEEDS.some((input) => Object.hasOwn(inputs, input)),
  );
}

/** Step of a search through the graph: returns the inputs found at a node, or the links to follow from the node. */
type Visit = (id: string, inputs: GraphNode["inputs"]) => { nodeInputs: NodeInput[] } | { links: Link[] };

/** Follows links backwards in a loop, because a workflow can have too many nodes for recursion. */
function followSamplers(graph: Graph, input: string, visit: Visit): NodeInput[] {
  const reached = samplers(graph).flatMap(([, { inputs }]) => {
    const nodeInputs: NodeInput[] = [];
    const seen = new Set<string>();
    const pending = [inputs[input]].filter(isLink);
    for (let link = pending.pop(); link !== undefined; link = pending.pop()) {
      const [id] = link;
      const node = graph.get(id);
      if (node === undefined || seen.has(id)) continue;
      seen.add(id);
      const step = visit(id, node.inputs);
      if ("nodeInputs" in step) nodeInputs.push(...step.nodeInputs);
      else pending.push(...step.links.reverse());
    }
    return nodeInputs;
  });
  return distinct(reached);
}

/** At a node with a positive and a negative input, follows only the link of the requested role. */
function visitTexts(role: "positive" | "negative"): Visit {
  return (id, inputs) => {
    const texts = TEXTS.filter((input) => typeof inputs[input] === "string");
    if (texts.length > 0) return { nodeInputs: texts.map((input) => ({ id, input })) };
    const link = [...TEXTS, role].map((input) => inputs[input]).find(isLink);
    if (link !== undefined) return { links: [link] };
    const others = Object.entries(inputs).filter(([input]) => input !== "positive" && input !== "negative");
    return { links: others.map(([, value]) => value).filter(isLink) };
  };
}

/** Finds the width or height of the empty latent image, and skips the nodes that only change a latent image. */
function visitSizes(graph: Graph, side: string): Visit {
  return (id, inputs) => {
    if (["width", "height"].every((each) => Object.hasOwn(inputs, each)))
      return { nodeInputs: numbersAt(graph, id, [side]) };
    const link = ["latent_image", "samples", "latent"].map((input) => inputs[input]).find(isLink);
    return { links: link === undefined ? [] : [link] };
  };
}

/** Returns a node's inputs that contain numbers. An input with a link is replaced by inputs of the linked node. */
function numbersAt(graph: Graph, id: string, names: readonly string[]): NodeInput[] {
  const inputs = graph.get(id)?.inputs ?? {};
  return names.flatMap((input) => {
    const value = inputs[input];
    if (isNumber(value)) return [{ id, input }];
    const behind = isLink(value) ? graph.get(value[0])?.inputs : undefined;
    if (!isLink(value) || behind === undefined) return [];
    const inputNames = [...names, "value", "int"].filter((name) => isNumber(behind[name]));
    return inputNames.map((name) => ({ id: value[0], input: name }));
  });
}

function findValues(graph: Graph, names: readonly string[], type: "string" | "number" | null): NodeInput[] {
  return [...graph].flatMap(([id, { inputs }]) =>
    names
      .filter((input) => Object.hasOwn(inputs, input) && !isLink(inputs[input]))
      .filter((input) => type === null || valueType(inputs[input]) === type)
      .map((input) => ({ id, input })),
  );
}

function isNumber(value: unknown): boolean {
  return valueType(value) === "number";
}

function valueType(value: unknown) {
  return value instanceof ExactInteger ? "number" : typeof value;
}

/** Removes all entries for an input except the last. */
export function distinct<Each extends NodeInput>(nodeInputs: readonly Each[]): Each[] {
  const byName = new Map(
    nodeInputs.map((nodeInput) => [JSON.stringify([nodeInput.id, nodeInput.input]), nodeInput]),
  );
  return [...byName.values()];
}
