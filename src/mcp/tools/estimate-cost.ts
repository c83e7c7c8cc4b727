import { z } from "zod/v4";
import type { Matrix } from "../../models/matrix.ts";
import { requestSchema } from "../request-schema.ts";
import { tool } from "../tool.ts";

export const estimateCost = (matrix: Matrix) =>
  tool({
    name: "estimate_cost",
    title: "Estimate a request's cost",
    description:
      "Checks a request against the model matrix and gives its documented cost in credits; null means not documented. Sends nothing, costs nothing.",
    annotations: { readOnlyHint: true, openWorldHint: false },
    input: z.strictObject(requestSchema(matrix)),
    async run(fields, _call, { client, defaults }) {
      return { result: { ok: true, ...client.estimate({ ...defaults, ...fields }) } };
    },
  });
