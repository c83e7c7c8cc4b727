import { ExactInteger } from "../../lib/exact-integer.ts";
import { type Graph, type GraphNode, isLink, type Link, nodesTitled } from "./graph.ts";

export interface NodeInput {
  id: string;
  input: string;
}

/** Common names of the inputs for each value. */
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

/**
 * Returns inputs of nodes titled with this name, because ComfyUI's exports keep titles: all with a common name,
 * otherwise the node's only value.
 */
export function titledInputs(graph: Graph, name: string): NodeInput[] {
  return nodesTitled(graph, name).flatMap(([id, { inputs }]) => {
    const free = Object.keys(inputs).filter((input) => !isLink(inputs[input]));
    const usual = inputsFor(name).filter((input) => free.includes(input));
    return (usual.length > 0 || free.length > 1 ? usual : free).map((input) => ({ id, input }));
  });
}

/** Finds inputs by the links of the graph. Several results are ambiguous. */
export function linkedInputs(graph: Graph, name: string): NodeInput[] {
  switch (name) {
    case "image":
      return findValues(graph, ["image"], "string").filter(
        ({ id }) => graph.get(id)?.class_type === "LoadImage",
      );
    case "prompt": {
      const prompts = followSamplers(graph, "positive", visitTexts("positive"));
      // Without a link from a sampler, a workflow's only text is still unambiguous.
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

/** Returns possible inputs, for a message. */
export function possibleInputs(graph: Graph, name: string): NodeInput[] {
  const isText = name === "prompt" || name === "negative";
  const usual = inputsFor(name).filter((input) => input !== "value");
  return findValues(graph, usual, isText ? "string" : null);
}

const SEEDS = ["seed", "noise_seed"];
const TEXTS = ["text", "prompt", "string", "value"];

/** Returns nodes that generate an image from a prompt. */
function samplers(graph: Graph): [string, GraphNode][] {
  return [...graph].filter(
    ([, { inputs }]) => isLink(inputs.positive) && SEEDS.some((input) => Object.hasOwn(inputs, input)),
  );
}

/** Step of a walk through the graph: the inputs found at a node, or the links to follow. */
type Visit = (id: string, inputs: GraphNode["inputs"]) => { nodeInputs: NodeInput[] } | { links: Link[] };

/**
 * Follows links back from an input of each sampler, visiting each node once. It does not recurse, because a
 * workflow may have thousands of nodes.
 */
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

/** Finds the texts of a conditioning. A node that passes both conditionings on keeps their roles. */
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

/** Finds the width or height of the empty latent image, behind nodes that only change it. */
function visitSizes(graph: Graph, side: string): Visit {
  return (id, inputs) => {
    if (["width", "height"].every((each) => Object.hasOwn(inputs, each)))
      return { nodeInputs: numbersAt(graph, id, [side]) };
    const link = ["latent_image", "samples", "latent"].map((input) => inputs[input]).find(isLink);
    return { links: link === undefined ? [] : [link] };
  };
}

/** Returns a node's numbers, or those of linked nodes that only contain a number. */
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

/** Keeps the last entry for each input. */
export function distinct<Each extends NodeInput>(nodeInputs: readonly Each[]): Each[] {
  const byName = new Map(
    nodeInputs.map((nodeInput) => [JSON.stringify([nodeInput.id, nodeInput.input]), nodeInput]),
  );
  return [...byName.values()];
}
