import { z } from "zod/v4";
import { HISTORY_LIMIT, STATUSES } from "../../core/use-cases/history-filter.ts";
import type { Matrix } from "../../models/matrix.ts";
import { shownFile } from "../answer.ts";
import { requestSchema, tool } from "../tool.ts";

export const history = (matrix: Matrix) =>
  tool({
    name: "history",
    title: "List charged tasks",
    description: "Lists the tasks charged from this machine, newest first, with prompt, cost and file paths.",
    annotations: { readOnlyHint: true, openWorldHint: false },
    input: z.strictObject({
      limit: z.int().min(1).max(1000).default(HISTORY_LIMIT).describe("How many at most."),
      search: z.string().optional().describe("A part of the prompt, in any case."),
      status: z.enum(STATUSES).optional().describe("unfinished: charged and not saved."),
      model: requestSchema(matrix).model.describe("Only this model."),
      since: z.string().optional().describe("A day such as 2026-01-31, or an age such as 12h, 7d, 2w."),
    }),
    async run(filter, { signal }, { client }) {
      const { tasks, ...more } = await client.history({ ...filter, signal });
      const shown = tasks.map((task) => ({ ...task, files: task.files.map(shownFile) }));
      return { result: { ok: true, tasks: shown, ...more } };
    },
  });
