import { createHash } from "node:crypto";
import { ImggenError } from "../../lib/error-types.ts";
import { type CheckOptions, checkRequest } from "../../models/check-request.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { CheckedRequest, GenerationRequest, RequestInput } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName, REQUEST_FIELDS } from "../../task/request-fields.ts";
import type { PrivateCopies } from "../references/private-copies.ts";

export interface CheckedRow {
  /** Number of the row, from 1. */
  row: number;
  line: number;
  checked: CheckedRequest;
  /** Path below the output folder; null if the template names the file. */
  output: string | null;
  /** File name template with the row's columns filled in; absent for the batch's template. */
  template?: string;
  /** Identifies the row by its content rather than its line. A count distinguishes equal rows. */
  key: string;
  /**
   * Key of the row in releases that did not trim prompts, for rows submitted by such a release; absent if equal.
   */
  uncutKey?: string;
}

export interface RowChecks extends Pick<CheckOptions, "labels" | "savedFields" | "generator"> {
  matrix: Matrix;
  validate: boolean;
  /** Copies files among a row's reference images; absent or null if only URLs are supported. */
  copies?: Pick<PrivateCopies, "asRecorded"> | null;
}

/** @returns the request, or the error */
export async function checkRow(
  input: RequestInput,
  { matrix, copies, ...options }: RowChecks,
): Promise<CheckedRequest | ImggenError> {
  try {
    const checked = checkRequest(input, matrix, options);
    return copies ? { ...checked, request: await copies.asRecorded(checked.request) } : checked;
  } catch (error) {
    if (error instanceof ImggenError) return error;
    throw error;
  }
}

/** Fields that are in every digest, set or not. Digests identify rows across releases, so this order must never change. */
const DIGEST_FIELDS: readonly FieldName[] = ["prompt", "model", "ratio", "image", "maxImages", "quality"];

/** Fields that were added later are in a digest only if they are set, so that older rows keep their digests. */
const LATER_FIELDS = FIELD_NAMES.filter((name) => !DIGEST_FIELDS.includes(name)).toSorted();

/**
 * Digest of a row's content, as 32 hexadecimal digits: the same on every machine and line. A single reference image as a string
 * and as a list give the same digest.
 */
export function rowDigest(request: GenerationRequest, output: string | undefined): string {
  const digestValue = (name: FieldName) =>
    REQUEST_FIELDS[name] === "texts"
      ? [request[name] ?? []].flat().map(digestImage)
      : (request[name] ?? null);
  const later = LATER_FIELDS.filter((name) => request[name] !== undefined);
  // A list has a fixed order. Unset fields are null.
  const content = [
    ...DIGEST_FIELDS.map(digestValue),
    output ?? null,
    ...later.map((name) => [name, digestValue(name)]),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 32);
}

/** The file name of a copy is the digest of its bytes. Its folder differs between machines. */
function digestImage(image: unknown): unknown {
  return /^file:.*\/([\da-f]{64}\.\w+)$/.exec(String(image))?.[1] ?? image;
}

/** Numbers equal rows, so that their keys are different. */
export class RowKeys {
  readonly #seen = new Map<string, number>();

  /** @param digest of the row's content */
  next(digest: string): string {
    const count = (this.#seen.get(digest) ?? 0) + 1;
    this.#seen.set(digest, count);
    return `${digest}-${count}`;
  }
}

/** Replaces keys with those of earlier runs. @param isClaimed whether a row was submitted with this key */
export function withKnownKeys(
  rows: readonly CheckedRow[],
  isClaimed: (key: string) => boolean,
): readonly CheckedRow[] {
  const isUncut = ({ uncutKey }: CheckedRow) => uncutKey !== undefined && isClaimed(uncutKey);
  if (!rows.some(isUncut)) return rows;
  // Rows with untrimmed prompts did not count as equal to trimmed ones.
  const keys = new RowKeys();
  return rows.map((row) => {
    const key = isUncut(row) ? row.uncutKey : keys.next(row.key.replace(/-\d+$/, ""));
    return key === undefined ? row : { ...row, key };
  });
}

/** Whether an earlier row has the same content. */
export function isRepeat(key: string): boolean {
  return !key.endsWith("-1");
}
