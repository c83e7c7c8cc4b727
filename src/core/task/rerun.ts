import { promises } from "node:fs";
import { UsageError } from "../../lib/errors.ts";
import { fileSha256 } from "../../lib/file-digest.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { TaskRecord } from "../../task/record.ts";

/**
 * The task that an image came from, or that has this id. An image is known by its bytes, so it may have been
 * moved or renamed since; bytes that were changed are nobody's.
 * @param file the path that it is where it is no id, absolute
 * @throws UsageError where the ledger has no such task
 */
export async function findTaskFor(what: string, file: string, ledger: Ledger): Promise<TaskRecord> {
  const isFile = (await promises.stat(file).catch(() => null))?.isFile() ?? false;
  const record = isFile ? await ledger.findByFile(await readDigest(file)) : await ledger.find(what);
  if (record) return record;
  throw isFile ? unknownFile(what) : unknownTask(what);
}

async function readDigest(file: string): Promise<string> {
  try {
    return await fileSha256(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read.`, { cause: error });
  }
}

function unknownFile(file: string): UsageError {
  return new UsageError(`${file} is no image that imggen saved on this machine, or it was changed since.`, {
    hint: "Nothing was sent. imggen history lists the tasks whose requests are known; rerun takes their ids too.",
  });
}

function unknownTask(id: string): UsageError {
  return new UsageError(`There is neither a file nor a task ${JSON.stringify(id)} on this machine.`, {
    hint: "Nothing was sent. imggen history lists the tasks whose requests are known.",
  });
}
