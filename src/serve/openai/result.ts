import { readFile } from "node:fs/promises";
import type { ServiceRequest } from "../../server/http.ts";
import { completionOf, displayId, type Task } from "../../task/task.ts";
import { linksTo, originOf } from "../answer-poll.ts";
import type { TaskEnd } from "../end.ts";
import type { Service } from "../serve-options.ts";
import type { ImagesOrder } from "./order.ts";

type Completed = Extract<TaskEnd, { name: "completed" }>;

/** The images of a task in OpenAI's form, and what is said about all of them. */
export interface ImagesResult {
  created: number;
  data: ({ b64_json: string } | { url: string })[];
  size?: string;
  output_format?: string;
  usage?: object;
}

/** @throws the disk's error where an image is no longer kept */
export async function resultOf(
  task: Task,
  end: Completed,
  { responseFormat }: Pick<ImagesOrder, "responseFormat">,
  request: Pick<ServiceRequest, "url" | "headers">,
  service: Service,
): Promise<ImagesResult> {
  const { files, usage } = end;
  const taskId = displayId(task);
  const [first] = files;
  return {
    created: Math.floor(Date.parse(completionOf(task)?.at ?? task.submittedAt) / 1000),
    data:
      responseFormat === "url"
        ? [linksTo(taskId, end, originOf(request), service)].flat().map((url) => ({ url }))
        : await Promise.all(
            files.map(async ({ path }) => ({ b64_json: await readFile(path ?? "", "base64") })),
          ),
    ...(first && {
      size: `${first.width}x${first.height}`,
      output_format: first.mediaType.replace("image/", ""),
    }),
    ...(usage !== null && { usage }),
  };
}
