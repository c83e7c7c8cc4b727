import { promises } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { fileSha256, sha256Hex } from "../../lib/file-digest.ts";
import { inspectBytes } from "../../lib/image/inspect.ts";
import { readRegular } from "../../lib/read-file.ts";
import { groupedDigits } from "../../lib/whole-number.ts";
import { MAX_REFERENCE_BYTES, REFERENCE_TYPES } from "../../task/request.ts";

/** A checked reference image on this machine. */
export interface ReferenceFile {
  /** Path or URL that the user gave. */
  name: string;
  /** Absolute path. */
  path: string;
  bytes: number;
  /** Digest of the file's bytes, in hex. */
  sha256: string;
  /** Extension of the image's type, without the dot. */
  extension: string;
  /** Warning that the service might refuse the image. */
  warning: string | null;
}

/** Size that the service surely accepts: the smaller interpretation of the documented "4 MB". */
const SURELY_ALLOWED_BYTES = 4_000_000;

/**
 * Reads a reference image, and checks that it is a complete regular file of a supported type and size.
 * @param name a path, or a `file:` URL
 * @throws UsageError
 */
export async function readReferenceFile(
  name: string,
  label: string,
  resolvePath: (file: string) => string,
): Promise<ReferenceFile> {
  const file = resolveReference(name, label, resolvePath);
  const bytes = await readSmall(file, name, label);
  const inspection = inspectBytes(bytes);
  const support = "the service supports JPEG, PNG and WebP";
  if (!inspection.ok)
    throw refusedError(`${label} ${name} is ${inspection.problem} (${inspection.detail}): ${support}`);
  const { type, extension } = inspection.image;
  if (!REFERENCE_TYPES.includes(type))
    throw refusedError(`${label} ${name} is of the type ${extension.toUpperCase()}: ${support}`);
  const mayBeTooLarge = bytes.length > SURELY_ALLOWED_BYTES;
  return {
    name,
    path: file,
    bytes: bytes.length,
    sha256: sha256Hex(bytes),
    extension,
    warning: mayBeTooLarge
      ? `${name} has ${groupedDigits(bytes.length)} bytes, but the service accepts "4 MB", so it may refuse the image.`
      : null,
  };
}

/** Whether a file still has the bytes that were checked. */
export async function isUnchanged({ path: file, sha256 }: ReferenceFile): Promise<boolean> {
  try {
    return (await fileSha256(file)) === sha256;
  } catch {
    return false;
  }
}

function resolveReference(name: string, label: string, resolvePath: (file: string) => string): string {
  if (name.includes("\0")) throw refusedError(`${label} contains a NUL character`);
  if (!/^file:/i.test(name)) return resolvePath(name);
  try {
    return path.resolve(fileURLToPath(name));
  } catch {
    throw refusedError(`${label} ${name} is not the URL of a file on this machine (file:///…)`);
  }
}

async function readSmall(file: string, name: string, label: string): Promise<Buffer> {
  try {
    const stats = await promises.stat(file);
    if (!stats.isFile()) throw refusedError(`${label} ${name} is not a regular file`);
    if (stats.size > MAX_REFERENCE_BYTES) throw tooLargeError(name, label, stats.size);
    return readRegular(file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${label} ${name} cannot be read: ${errorText(error)}.`, {
      hint: "Nothing was sent. For an image on the web, give its whole URL (https://…).",
      cause: error,
    });
  }
}

function tooLargeError(name: string, label: string, size: number): UsageError {
  return refusedError(`${label} ${name} has ${groupedDigits(size)} bytes: the service accepts at most 4 MB`);
}

function refusedError(message: string): UsageError {
  return new UsageError(`${message}.`, { hint: "Nothing was uploaded or sent." });
}
