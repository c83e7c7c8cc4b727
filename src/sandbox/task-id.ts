import { createHash, randomBytes } from "node:crypto";

const TASK_ID = /^task_[0-9a-f]{20}$/;

export function newTaskId(): string {
  return `task_${randomBytes(10).toString("hex")}`;
}

/** The id of the one task that a request with this id has, however often it is submitted. */
export function taskIdFor(requestId: string): string {
  return `task_${createHash("sha256").update(requestId).digest("hex").slice(0, 20)}`;
}

/** Whether an untrusted text is an id as `newTaskId` makes them, and so is safe in a path. */
export function isNewTaskId(text: string): boolean {
  return TASK_ID.test(text);
}
