import { type ErrorFacts, ImggenError } from "../lib/error-types.ts";

/** A field whose value a model does not take, and what it takes there. */
export interface Limit {
  field: "ratio" | "quality";
  /** Empty if the model takes nothing there. */
  allowed: readonly string[];
}

/**
 * A request that the service's document rules out. Thrown by its checks, before anything is sent. `limit` is what the field
 * takes, for a caller that lists it.
 */
export class InvalidRequestError extends ImggenError {
  readonly type = "invalid_request";
  /** null where it is not about one field that has a list of values. */
  readonly limit: Limit | null;

  constructor(message: string, { limit, ...facts }: ErrorFacts & { limit?: Limit | undefined } = {}) {
    super(message, facts);
    this.limit = limit ?? null;
  }
}
