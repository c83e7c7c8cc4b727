import { errorText } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/errors.ts";

/** Standard output could not take the result. */
export class OutputError extends ImggenError {
  readonly type = "save_failed";

  constructor(cause: Error) {
    super(`Standard output could not be written: ${errorText(cause)}.`, {
      hint: "What was saved or stored is safe: imggen history shows it.",
      charged: "unknown",
      cause,
    });
  }
}
