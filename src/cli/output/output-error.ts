import { InterruptedError } from "../../core/errors.ts";
import { errorText } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";

/** The error for a result that was still waiting for its reader when a signal came. */
export function unreadError(reason: InterruptedError): InterruptedError {
  return new InterruptedError(reason.signal, {
    hint: "Standard output was not read, so the result is incomplete. What was saved or stored is safe: imggen history shows it.",
    charged: "unknown",
    cause: reason,
  });
}

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
