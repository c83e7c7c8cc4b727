import { z } from "zod/v4";
import { REQUEST_SCHEMA } from "../request-schema.ts";
import { tool } from "../tool.ts";

export const estimateCost = tool({
  name: "estimate_cost",
  title: "Estimate a request's cost",
  description:
    "Checks a request against the model matrix and gives its documented cost in credits; null means not documented. Sends nothing, costs nothing.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject(REQUEST_SCHEMA),
  async run(fields, _call, { client, defaults }) {
    return { result: { ok: true, ...client.estimate({ ...defaults, ...fields }) } };
  },
});
