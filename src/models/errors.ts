import { ImggenError } from "../lib/errors.ts";

/** A request that the service's document rules out. Nothing of it was sent. */
export class InvalidRequestError extends ImggenError {
  readonly type = "invalid_request";
}
