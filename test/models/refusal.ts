import type { CheckOptions } from "../../src/models/check-request.ts";
import { InvalidRequestError } from "../../src/models/invalid-request.ts";
import type { RequestInput } from "../../src/task/request.ts";
import { checkRequest } from "./built-in.ts";

/** The message (without its full stop) and hint of a draft's refusal; throws where the draft is accepted. */
export function refusalOf(input: Partial<RequestInput>, options?: CheckOptions) {
  try {
    checkRequest({ prompt: "a fox", ...input }, options);
  } catch (error) {
    if (error instanceof InvalidRequestError)
      return { message: error.message.replace(/\.$/, ""), hint: error.hint ?? "" };
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(input)}`);
}
