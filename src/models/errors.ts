import { ImggenError } from "../lib/errors.ts";

/** A request that the service's document rules out. Nothing was sent. */
export class InvalidRequestError extends ImggenError {
  readonly type = "invalid_request";
}
