import { expect, it } from "vitest";
import { shortTaskId } from "../../src/lib/short-task-id.ts";

it.each([
  ["task-0123456789ab", "456789ab"],
  ["ab", "ab"],
  ["../../../etc", "etc"],
  ["\u001b]0;x", "0x"],
  ["漢字", "task"],
  ["", "task"],
])("a task id in a name %j is shown as %j", (taskId, short) => {
  expect(shortTaskId(taskId)).toBe(short);
});
