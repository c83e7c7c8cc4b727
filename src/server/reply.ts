import type { ServerResponse } from "node:http";

/** The keys of section 7, and one for invalid requests that the document gives no key for. */
export type ErrorKey =
  | "login_required"
  | "image_generation.error.empty_prompt"
  | "image_generation.error.prompt_too_long"
  | "image_generation.error.invalid_request"
  | "image_generation.error.unknown_error"
  | "my_credits.no_credits_description"
  | "SUBSCRIPTION_REQUIRED";

/** The `errorCode` of a failed task; the document names none. */
export const FAILURE_CODE = 1001;

/** A reply, before it is sent over HTTP. `note` is for the server's log, never for the client. */
export type ServerReply = { note: string | null } & (
  | { kind: "envelope"; status: number; headers: Record<string, string>; body: Envelope }
  | { kind: "page"; status: number; html: string }
  /** Writes itself. @returns the HTTP status, and a note for the log */
  | { kind: "live"; write: (outgoing: ServerResponse) => Promise<{ status: number; note: string }> }
  /** JSON without the envelope. */
  | { kind: "json"; status: number; headers?: Record<string, string>; body: object }
  /**
   * `cutShort`: the connection ends after the last chunk, with the reply unfinished. `onSent`: called once all of it was
   * sent to a client that was still there.
   */
  | {
      kind: "picture";
      chunks: AsyncIterable<Buffer>;
      mediaType: string;
      bytes: number | null;
      cutShort: boolean;
      onSent?: () => void;
    }
  /** The connection is closed without a reply. */
  | { kind: "silence" }
);

/** Section 2.1: `data` is present on success only. `detail` is for people; the document has none. */
type Envelope = { code: 0; message: "ok"; data: object } | { code: -1; message: ErrorKey; detail?: string };

export function success(data: object, note: string): ServerReply {
  return { kind: "envelope", status: 200, headers: {}, body: { code: 0, message: "ok", data }, note };
}

export interface RefusalFacts {
  /** Default 200: the document shows no HTTP status for any error but SUBSCRIPTION_REQUIRED. */
  status?: number;
  headers?: Record<string, string>;
  /** The problem, if the key alone is not specific enough. */
  why?: string | undefined;
  /** The problem for the client: an extension of the document. */
  detail?: string;
}

export function refusal(
  key: ErrorKey,
  { status = 200, headers = {}, detail, why = detail }: RefusalFacts = {},
): ServerReply {
  const note = why === undefined ? key : `${key}: ${why}`;
  const body: Envelope = { code: -1, message: key, ...(detail !== undefined && { detail }) };
  return { kind: "envelope", status, headers, body, note };
}

/** An invalid request that the document gives no key for: HTTP 400. */
export function invalidRequest(why: string, facts: RefusalFacts = {}): ServerReply {
  return refusal("image_generation.error.invalid_request", { status: 400, ...facts, why });
}

/** Section 7: also for unknown tasks and links, which have no key. */
export function unknownError(why: string, facts: RefusalFacts = {}): ServerReply {
  return refusal("image_generation.error.unknown_error", { ...facts, why });
}
