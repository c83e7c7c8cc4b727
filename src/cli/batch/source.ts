import { createReadStream } from "node:fs";
import path from "node:path";
import type { ManifestEntry } from "../../core/manifest/entry.ts";
import { manifestFormat } from "../../core/manifest/format.ts";
import { readManifest } from "../../core/manifest/read.ts";
import { errorCode } from "../../lib/error-code.ts";
import { UsageError } from "../../lib/errors.ts";
import type { Context } from "../context.ts";

/** A manifest that can be read more than once. */
export type ManifestSource = () => AsyncIterable<ManifestEntry>;

/** Opens a manifest by its path, or `-` for standard input. @throws UsageError where the kind is unknown */
export async function manifestSource(name: string, context: Context): Promise<ManifestSource> {
  if (name === "-") {
    const chunks = await readAll(context);
    return () => readManifest(inMemory(chunks), "detect");
  }
  const format = manifestFormat(name);
  return () => readManifest(fileChunks(name, context), format);
}

async function* fileChunks(name: string, { cwd, signal }: Context): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path.resolve(cwd, name), { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`The manifest cannot be read: ${name} (${errorCode(error)}).`, { cause: error });
  }
}

/** Standard input is read to its end first: it cannot be read twice. */
async function readAll({ stdin, signal }: Context): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  const stop = () => stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`Standard input cannot be read (${errorCode(error)}).`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  return chunks;
}

async function* inMemory(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
