import { randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { StreamedBody } from "../api/transport.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { stringifyExact, toExactSeed } from "../lib/exact-integer.ts";

/** The body of a POST, and its type. */
export interface PostBody {
  type: string;
  content: string | StreamedBody;
}

/** A file that becomes a text in base64 in a JSON body. It is read while the body is sent. */
export class Base64File {
  readonly file: string;
  /** The beginning of the text: that of a `data:` URL. */
  readonly prefix: string;

  constructor(file: string, prefix = "") {
    this.file = file;
    this.prefix = prefix;
  }

  /** All of it. @throws the system's error */
  text(): string {
    return `${this.prefix}${readFileSync(this.file, "base64")}`;
  }
}

/**
 * A value as JSON; each `Base64File` in it becomes a text.
 * @param seedField name of the field with a seed, whose digits are sent as a number @throws the system's error if a file is
 * not there
 */
export function jsonBody(value: unknown, seedField?: string): PostBody {
  const type = "application/json";
  // It occurs in no text of the value.
  const mark = randomUUID();
  const files: Base64File[] = [];
  const text = stringifyExact(value, (name, each) => {
    if (!(each instanceof Base64File)) return name === seedField ? toExactSeed(each) : each;
    files.push(each);
    return `${each.prefix}${mark}`;
  });
  if (files.length === 0) return { type, content: text };
  const parts = text.split(mark).flatMap((part, at): Part[] => {
    const before = files[at];
    return before === undefined ? [part] : [part, filePart(before.file, "base64")];
  });
  return { type, content: bodyOfParts(parts) };
}

/** A file of a form. */
export interface FormFile {
  field: string;
  file: string;
  /** The name that the form gives it. Default: its own. */
  name?: string;
  mediaType: string;
}

/**
 * Fields and files as `multipart/form-data` (RFC 7578), written as browsers do.
 * @throws the system's error if a file is not there
 */
export function formBody(
  fields: readonly [name: string, value: string][],
  files: readonly FormFile[],
): PostBody {
  const boundary = `imggen-${randomUUID()}`;
  const head = (lines: string) => `--${boundary}\r\nContent-Disposition: form-data; ${lines}\r\n\r\n`;
  const parts: Part[] = fields.map(
    ([name, value]) => `${head(`name="${quoted(name)}"`)}${value.replace(/\r?\n|\r/g, "\r\n")}\r\n`,
  );
  for (const { field, file, name = path.basename(file), mediaType } of files) {
    const type = `\r\nContent-Type: ${mediaType}`;
    parts.push(head(`name="${field}"; filename="${quoted(name)}"${type}`), filePart(file, null), "\r\n");
  }
  parts.push(`--${boundary}--\r\n`);
  return { type: `multipart/form-data; boundary=${boundary}`, content: bodyOfParts(parts) };
}

/** A name for use between quotes. */
function quoted(name: string): string {
  return name.replace(/["\r\n]/g, encodeURIComponent);
}

/** A part of a body: a text, or a file as it was when the body was begun. */
type Part = string | { file: string; fileBytes: number; encoding: "base64" | null };

function filePart(file: string, encoding: "base64" | null): Part {
  return { file, fileBytes: statSync(file).size, encoding };
}

function bodyOfParts(parts: readonly Part[]): StreamedBody {
  return {
    bytes: parts.reduce((sum, part) => sum + partBytes(part), 0),
    async *chunks() {
      for (const part of parts) {
        if (typeof part === "string") yield Buffer.from(part);
        else yield* fileChunks(part);
      }
    },
  };
}

function partBytes(part: Part): number {
  if (typeof part === "string") return Buffer.byteLength(part);
  return part.encoding === null ? part.fileBytes : 4 * Math.ceil(part.fileBytes / 3);
}

/** A multiple of three, so that the base64 of the chunks can be joined. */
const CHUNK_BYTES = 192 * 1024;

/** @throws Error if the size of the file has changed, before the last chunk */
function* fileChunks({ file, fileBytes, encoding }: Exclude<Part, string>): Generator<Buffer> {
  const opened = DiskFile.openToRead(file);
  try {
    for (let at = 0; at < fileBytes; at += CHUNK_BYTES) {
      const chunk = opened.read(at, Math.min(CHUNK_BYTES, fileBytes - at));
      if (opened.size !== fileBytes) throw new Error(`${path.basename(file)} was changed while it was sent`);
      yield encoding === null ? chunk : Buffer.from(chunk.toString(encoding), "latin1");
    }
  } finally {
    opened.close();
  }
}
