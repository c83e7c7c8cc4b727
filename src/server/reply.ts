import type { ServerResponse } from "node:http";

/** Error keys of section 7, and `invalid_request`, which the document does not define. */
export type ErrorKey =
  | "login_required"
  | "image_generation.error.empty_prompt"
  | "image_generation.error.prompt_too_long"
  | "image_generation.error.invalid_request"
  | "image_generation.error.unknown_error"
  | "my_credits.no_credits_description"
  | "SUBSCRIPTION_REQUIRED";

/** The `errorCode` of a failed task. The number is arbitrary, because the document defines no codes. */
export const FAILURE_CODE = 1001;

/** A reply. `note` is for the server's log, never for the client. */
export type ServerReply = { note: string | null } & (
  | { kind: "envelope"; status: number; headers: Record<string, string>; body: Envelope }
  | { kind: "page"; status: number; html: string }
  /** `write` returns the HTTP status and a note for the log. */
  | { kind: "live"; write: (outgoing: ServerResponse) => Promise<{ status: number; note: string }> }
  /** JSON without the envelope. */
  | { kind: "json"; status: number; headers?: Record<string, string>; body: object }
  /** `cutShort`: closes the connection before the image is complete. `onSent`: called after a complete delivery. */
  | {
      kind: "picture";
      chunks: AsyncIterable<Buffer>;
      mediaType: string;
      bytes: number | null;
      cutShort: boolean;
      onSent?: () => void;
    }
  | { kind: "silence" }
);

/** Only a success has `data` (section 2.1). `detail` is a text for people, which the document does not define. */
type Envelope = { code: 0; message: "ok"; data: object } | { code: -1; message: ErrorKey; detail?: string };

export function success(data: object, note: string): ServerReply {
  return { kind: "envelope", status: 200, headers: {}, body: { code: 0, message: "ok", data }, note };
}

export interface RefusalFacts {
  /** Default: 200, because the document has another HTTP status only for SUBSCRIPTION_REQUIRED. */
  status?: number;
  headers?: Record<string, string>;
  why?: string | undefined;
  /** Text about the problem for the client, in a field that the document does not define. */
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

/** Uses `invalid_request`, because the document has no key for this error. */
export function invalidRequest(why: string, facts: RefusalFacts = {}): ServerReply {
  return refusal("image_generation.error.invalid_request", { status: 400, ...facts, why });
}

/** Also refuses an unknown task or link, because section 7 has no key for them. */
export function unknownError(why: string, facts: RefusalFacts = {}): ServerReply {
  return refusal("image_generation.error.unknown_error", { ...facts, why });
}
