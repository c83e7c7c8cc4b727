import type { Ledger } from "../../store/ledger.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { readSidecar } from "../images/sidecar.ts";

/** Where an image came from. */
export interface ImageOrigin {
  taskId: string | null;
  request: GenerationRequest;
  /** Base URL of the service that its task was charged at. */
  service: string;
  credits: number | null;
  submittedAt: string | null;
  /** Its task; null where only the image's sidecar knows of it. */
  record: TaskRecord | null;
}

/**
 * Where an image came from, known by its bytes: from the ledger, else from its sidecar. Null if neither knows.
 * @param sha256 of the image, in hex
 */
export async function originOf(image: string, sha256: string, ledger: Ledger): Promise<ImageOrigin | null> {
  const record = await ledger.findByFile(sha256);
  if (record) return originOfTask(record);
  return originInSidecar(image, sha256);
}

/** Where an image came from by its sidecar; null without one, or if it is another image's. */
export async function originInSidecar(image: string, sha256: string): Promise<ImageOrigin | null> {
  const sidecar = await readSidecar(image);
  if (sidecar?.sha256 !== sha256) return null;
  const { taskId, request, service, credits, submittedAt } = sidecar;
  return { taskId, request, service, credits, submittedAt, record: null };
}

/**
 * Whether a word is the id of a task, even where a file has that name: `./<name>` is the file then. A word with a dot or
 * a separator is a file's, so that no history is searched for one.
 */
export async function namesTask(what: string, ledger: Ledger): Promise<boolean> {
  return /^[^./\\]+$/.test(what) && (await ledger.find(what)) !== null;
}

export function originOfTask(record: TaskRecord): ImageOrigin {
  const { request, service, credits } = record.intent;
  const taskId = "taskId" in record.state ? record.state.taskId : null;
  return { taskId, request, service: service.baseUrl, credits, submittedAt: record.submittedAt, record };
}
