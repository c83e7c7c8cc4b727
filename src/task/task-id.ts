import { randomBytes } from "node:crypto";

const TASK_ID = /^task_[0-9a-f]{20}$/;

export function newTaskId(): string {
  return `task_${randomBytes(10).toString("hex")}`;
}

/** Whether an untrusted text has the form of an id from `newTaskId`, so that it is safe in a path. */
export function isNewTaskId(text: string): boolean {
  return TASK_ID.test(text);
}
