import { randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { StreamedBody } from "../api/transport.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { stringifyExact, toExactSeed } from "../lib/exact-integer.ts";

export interface PostBody {
  type: string;
  content: string | StreamedBody;
}

/** File whose content is part of a JSON body as base64. The file is read only while the body is sent. */
export class Base64File {
  readonly file: string;
  /** Text before the base64, such as the start of a `data:` URL. */
  readonly prefix: string;

  constructor(file: string, prefix = "") {
    this.file = file;
    this.prefix = prefix;
  }

  /** @throws the system's error */
  text(): string {
    return `${this.prefix}${readFileSync(this.file, "base64")}`;
  }
}

/** Serializes JSON, with the digits of the field `seedField` as a number. @throws the system's error */
export function jsonBody(value: unknown, seedField?: string): PostBody {
  const type = "application/json";
  // The placeholder is random, because a fixed text might occur in the value.
  const placeholder = randomUUID();
  const files: Base64File[] = [];
  const text = stringifyExact(value, (name, field) => {
    if (!(field instanceof Base64File)) return name === seedField ? toExactSeed(field) : field;
    files.push(field);
    return `${field.prefix}${placeholder}`;
  });
  if (files.length === 0) return { type, content: text };
  const parts = text.split(placeholder).flatMap((part, index): Part[] => {
    const file = files[index];
    return file === undefined ? [part] : [part, filePart(file.file, "base64")];
  });
  return { type, content: streamParts(parts) };
}

export interface FormFile {
  field: string;
  file: string;
  /** File name in the form. Default: the name of the file on disk. */
  name?: string;
  mediaType: string;
}

/** Encodes a form as `multipart/form-data` (RFC 7578), as browsers do. @throws the system's error */
export function formBody(
  fields: readonly [name: string, value: string][],
  files: readonly FormFile[],
): PostBody {
  const boundary = `imggen-${randomUUID()}`;
  const partHead = (parameters: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${parameters}\r\n\r\n`;
  const parts: Part[] = fields.map(
    ([name, value]) => `${partHead(`name="${escapeQuotes(name)}"`)}${value.replace(/\r?\n|\r/g, "\r\n")}\r\n`,
  );
  for (const { field, file, name = path.basename(file), mediaType } of files) {
    const type = `\r\nContent-Type: ${mediaType}`;
    parts.push(
      partHead(`name="${field}"; filename="${escapeQuotes(name)}"${type}`),
      filePart(file, null),
      "\r\n",
    );
  }
  parts.push(`--${boundary}--\r\n`);
  return { type: `multipart/form-data; boundary=${boundary}`, content: streamParts(parts) };
}

function escapeQuotes(name: string): string {
  return name.replace(/["\r\n]/g, encodeURIComponent);
}

/** Part of a body: a text or a file. `fileBytes`: size of the file when the body was created. */
type Part = string | { file: string; fileBytes: number; encoding: "base64" | null };

function filePart(file: string, encoding: "base64" | null): Part {
  return { file, fileBytes: statSync(file).size, encoding };
}

function streamParts(parts: readonly Part[]): StreamedBody {
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

/** Size of a chunk. It is a multiple of three, so that the base64 of consecutive chunks can be joined. */
const CHUNK_BYTES = 192 * 1024;

/** @throws Error if the file's size has changed; the last chunk is not sent */
function* fileChunks({ file, fileBytes, encoding }: Exclude<Part, string>): Generator<Buffer> {
  const opened = DiskFile.openToRead(file);
  try {
    for (let at = 0; at < fileBytes; at += CHUNK_BYTES) {
      const chunk = opened.read(at, Math.min(CHUNK_BYTES, fileBytes - at));
      if (opened.size !== fileBytes)
        throw new Error(`${path.basename(file)} changed while it was being sent`);
      yield encoding === null ? chunk : Buffer.from(chunk.toString(encoding), "latin1");
    }
  } finally {
    opened.close();
  }
}
