import type { ServerResponse } from "node:http";

/** The keys of section 7, and a key of this server for invalid requests. */
export type ErrorKey =
  | "login_required"
  | "image_generation.error.empty_prompt"
  | "image_generation.error.prompt_too_long"
  | "image_generation.error.invalid_request"
  | "image_generation.error.unknown_error"
  | "my_credits.no_credits_description"
  | "SUBSCRIPTION_REQUIRED";

/** The `errorCode` of a failed task. The document does not define any. */
export const FAILURE_CODE = 1001;

/** A reply. `note` is for the server's log, never for the client. */
export type ServerReply = { note: string | null } & (
  | { kind: "envelope"; status: number; headers: Record<string, string>; body: Envelope }
  | { kind: "page"; status: number; html: string }
  /** `write` returns the HTTP status and a note for the log. */
  | { kind: "live"; write: (outgoing: ServerResponse) => Promise<{ status: number; note: string }> }
  /** JSON without the envelope. */
  | { kind: "json"; status: number; headers?: Record<string, string>; body: object }
  /** `cutShort`: closes the connection before the end. `onSent`: called after complete delivery. */
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

/** `data` is present on success only (section 2.1). `detail` is an extension of the document, for people. */
type Envelope = { code: 0; message: "ok"; data: object } | { code: -1; message: ErrorKey; detail?: string };

export function success(data: object, note: string): ServerReply {
  return { kind: "envelope", status: 200, headers: {}, body: { code: 0, message: "ok", data }, note };
}

export interface RefusalFacts {
  /** Default: 200, because the document has another HTTP status only for SUBSCRIPTION_REQUIRED. */
  status?: number;
  headers?: Record<string, string>;
  why?: string | undefined;
  /** The problem, for the client. An extension of the document. */
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

/** Refuses with HTTP 400; the document has no key for this. */
export function invalidRequest(why: string, facts: RefusalFacts = {}): ServerReply {
  return refusal("image_generation.error.invalid_request", { status: 400, ...facts, why });
}

/** Also for unknown tasks and links, for which section 7 has no key. */
export function unknownError(why: string, facts: RefusalFacts = {}): ServerReply {
  return refusal("image_generation.error.unknown_error", { ...facts, why });
}
