import { type ErrorFacts, ImggenError } from "../lib/error-types.ts";

export interface Limit {
  field: "ratio" | "quality";
  /** Empty if the model does not support the field. */
  allowed: readonly string[];
}

/** A request that the service's document excludes. Thrown before anything is sent. */
export class InvalidRequestError extends ImggenError {
  readonly type = "invalid_request";
  /** Supported values of the refused field; null for other problems. */
  readonly limit: Limit | null;

  constructor(message: string, { limit, ...facts }: ErrorFacts & { limit?: Limit | undefined } = {}) {
    super(message, facts);
    this.limit = limit ?? null;
  }
}
