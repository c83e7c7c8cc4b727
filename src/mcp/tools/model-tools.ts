import { MODEL_FILTER } from "../../client/options/command-table.ts";
import { noFlag } from "../../client/options/option.ts";
import { undocumentedModel } from "../../models/check-request.ts";
import { KINDS, QUALITIES } from "../../models/matrix.ts";
import { requestArguments, type ToolFacts, tool, toRequestOptions } from "../tool.ts";

export const listModels = tool({
  name: "list_models",
  title: "List models",
  description:
    "Lists models with their abilities, and their cost in credits by quality. null means not documented. Filters also omit models for which the filtered property is not documented.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  options: {
    ...MODEL_FILTER,
    kind: noFlag("text", {
      choices: KINDS,
      agents: "Whether the model makes images from text, or edits images.",
    }),
    quality: { ...MODEL_FILTER.quality, choices: QUALITIES },
  },
  presentNames: [],
  async run(filter, _call, { client, generatorModels }) {
    const fromMatrix = client.models(filter);
    const isFiltered = Object.keys(filter).length > 0;
    // A filter excludes all models of the generator, because their features are undocumented.
    const names = isFiltered ? [] : ((await generatorModels()) ?? []);
    const unlistedModels = names
      .filter((name) => !fromMatrix.some(({ id }) => id === name))
      .map(undocumentedModel);
    return { result: { ok: true, models: [...fromMatrix, ...unlistedModels] } };
  },
});

export const estimateCost = (settings: ToolFacts) =>
  tool({
    name: "estimate_cost",
    title: "Estimate a request's cost",
    description:
      "Checks a request against the model matrix and gives its documented cost in credits; null means not documented. Sends nothing, costs nothing.",
    annotations: { readOnlyHint: true, openWorldHint: false },
    options: requestArguments(settings),
    presentNames: ["prompt"],
    async run(fields, _call, toolbox) {
      return { result: { ok: true, ...toolbox.client.estimate(toRequestOptions(fields, toolbox)) } };
    },
  });
