import { ImggenFailure } from "../../src/client/report-json.ts";
import type { TaskFailure, TaskSuccess } from "../../src/client/results.ts";
import { FOX } from "./mcp-world.ts";

/** The result of a task that was charged and is saved. */
export const SAVED: TaskSuccess = {
  ok: true,
  taskId: "task-1",
  status: "completed",
  request: FOX,
  credits: 2,
  charged: "yes",
  files: [],
  submittedAt: null,
  completedAt: null,
  elapsedMs: null,
  warnings: [],
};

/** The failure of a charged task that nothing can take further, but for these facts. */
export function failed(facts: Partial<TaskFailure> = {}): ImggenFailure {
  return new ImggenFailure({
    ok: false,
    error: { type: "save_failed", key: null, message: "no", hint: "", exitCode: 8 },
    taskId: "task-1",
    charged: "yes",
    resume: null,
    files: [],
    warnings: [],
    ...facts,
  });
}
