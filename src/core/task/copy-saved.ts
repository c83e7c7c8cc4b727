import type { ErrorType, ImggenError } from "../../lib/error-types.ts";
import type { Destination } from "../../task/intent.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import type { TaskDeps } from "../deps.ts";
import { SaveFailedError } from "../errors.ts";
import { isWhole } from "../images/save-images.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { finishTask } from "./finish.ts";
import type { TaskReport } from "./report.ts";

/** Puts the images of a saved task under a further name: from its files if they are whole, else from the service. */
export async function copyOf(
  { taskId, acceptedAt, files }: Extract<TaskState, { name: "saved" }>,
  destination: Extract<Destination, { kind: "file" }>,
  wait: WaitSettings | null,
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  const areHere = (await Promise.all(files.map(async (file) => file.path !== null && isWhole(file)))).every(
    Boolean,
  );
  if (areHere && files[0]?.path === destination.path) return { ...report, isSavedBefore: true };
  const task = {
    taskId,
    writer: null,
    destination,
    acceptedAtMs: Date.parse(acceptedAt),
    recovering: true,
    replacesNewer: true,
    saved: [],
    copies: files,
  };
  const urls = files.map(({ url }) => url);
  const seen = {
    outcome: "ended",
    task: { status: "completed", urls },
    seenMs: Number.POSITIVE_INFINITY,
    pendingMs: null,
  } as const;
  const once = { timeoutMs: 0, schedule: null };
  const copied = await finishTask(task, report, wait ?? once, deps, areHere ? seen : null);
  const isGone = !areHere && copied.error !== null && GONE.has(copied.error.type);
  return isGone ? { ...copied, error: notToBeHad(report, copied.error) } : copied;
}

/** How the service says that it does not have a task's images any more. */
const GONE: ReadonlySet<ErrorType> = new Set(["save_failed", "service_error", "generation_failed"]);

function notToBeHad({ taskId, ledgerId }: TaskReport, cause: ImggenError | null): SaveFailedError {
  return new SaveFailedError(
    `The image of task ${taskId} is no longer where it was saved, and could not be saved again. ${cause?.message}`,
    {
      hint: `To try again: imggen resume ${ledgerId}\nTo submit it again, at a new charge: imggen rerun ${ledgerId}`,
      charged: "yes",
      cause,
    },
  );
}
