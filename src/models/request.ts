/**
 * The body of a submit, field for field as it goes on the wire (section 2.2 of the service's document).
 * A field that the user did not set is absent, so that the service's own default applies.
 */
export interface GenerationRequest {
  prompt: string;
  /** Canonical id of section 2.4, or any string under `--no-validate`. */
  model: string;
  /** `auto` or `w:h`. */
  ratio?: string;
  /** Reference image URL, or several. */
  image?: string | string[];
  maxImages?: number;
  quality?: string;
}

/** What the user asked for, before it is checked: values as given, aliases unresolved. */
export interface RequestDraft {
  prompt: string;
  /** Absent: the service's default model, `vendor1/alpha-2`. */
  model?: string | undefined;
  ratio?: string | undefined;
  quality?: string | undefined;
  images?: readonly string[] | undefined;
  maxImages?: number | undefined;
}

/** A request that the service's document does not rule out, with what it will cost. */
export interface CheckedRequest {
  request: GenerationRequest;
  /** Documented cost in credits; `null` where the document gives none. */
  credits: number | null;
  warnings: string[];
}
