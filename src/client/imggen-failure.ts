import type { Charged } from "../lib/error-types.ts";
import type { OptionNames } from "../lib/wording.ts";
import type { SavedFile } from "../task/saved-file.ts";
import { describeFailure } from "./failure.ts";
import { failureJson } from "./report-json.ts";
import type { ErrorDetail, TaskFailure } from "./results.ts";

/** What a call throws: the failure document of the command line's `--json`, as an Error. It names options, not flags. */
export class ImggenFailure extends Error implements TaskFailure {
  override readonly name = "ImggenFailure";
  readonly ok = false;
  /** What went wrong; `error.type` says which of the documented kinds it is. */
  readonly error: ErrorDetail;
  readonly taskId: string | null;
  readonly charged: Charged;
  readonly resume: string | null;
  readonly files: SavedFile[];
  readonly warnings: string[];
  declare readonly reused?: true;

  constructor({ error, taskId, charged, resume, files, warnings, reused }: TaskFailure, cause?: unknown) {
    super(error.message, cause === undefined ? undefined : { cause });
    this.error = error;
    this.taskId = taskId;
    this.charged = charged;
    this.resume = resume;
    this.files = files;
    this.warnings = warnings;
    if (reused) this.reused = reused;
  }

  /** The same document that the command line prints. */
  toJSON(): TaskFailure {
    const { ok, error, taskId, charged, resume, files, warnings, reused } = this;
    return { ok, error, taskId, charged, resume, files, warnings, ...(reused && { reused }) };
  }
}

/** Any error as the failure of a call. @param names how it names options */
export function imggenFailureOf(error: unknown, names: OptionNames): ImggenFailure {
  if (error instanceof ImggenFailure) return error;
  return new ImggenFailure({ ...failureJson(describeFailure(error, names)), files: [], warnings: [] }, error);
}

/** @throws ImggenFailure in place of whatever was thrown */
export function orFailure<Result>(work: () => Result, names: OptionNames): Result {
  try {
    return work();
  } catch (error) {
    throw imggenFailureOf(error, names);
  }
}
