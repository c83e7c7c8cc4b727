import { MODEL_FILTER } from "../../client/options/command-table.ts";
import { noFlag } from "../../client/options/option.ts";
import { undocumentedModel } from "../../models/check-request.ts";
import { KINDS, QUALITIES } from "../../models/matrix.ts";
import { type Choosing, requestOf, requestOptions, tool } from "../tool.ts";

export const listModels = tool({
  name: "list_models",
  title: "List models",
  description:
    "Lists models: what each can do, and what it costs in credits by quality. null means not documented. Filters leave out models of which it is not documented that they match.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  options: {
    ...MODEL_FILTER,
    kind: noFlag("text", { choices: KINDS, agents: "Makes images from text, or edits images." }),
    quality: { ...MODEL_FILTER.quality, choices: QUALITIES },
  },
  given: [],
  async run(filter, _call, { client, generatorModels }) {
    const fromMatrix = client.models(filter);
    const isFiltered = Object.keys(filter).length > 0;
    // Of a generator's own models only the names are known: none is documented to match.
    const names = isFiltered ? [] : ((await generatorModels()) ?? []);
    const others = names.filter((name) => !fromMatrix.some(({ id }) => id === name)).map(undocumentedModel);
    return { result: { ok: true, models: [...fromMatrix, ...others] } };
  },
});

export const estimateCost = (settings: Choosing) =>
  tool({
    name: "estimate_cost",
    title: "Estimate a request's cost",
    description:
      "Checks a request against the model matrix and gives its documented cost in credits; null means not documented. Sends nothing, costs nothing.",
    annotations: { readOnlyHint: true, openWorldHint: false },
    options: requestOptions(settings),
    given: ["prompt"],
    async run(fields, _call, toolbox) {
      return { result: { ok: true, ...toolbox.client.estimate(requestOf(fields, toolbox)) } };
    },
  });
