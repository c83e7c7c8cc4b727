import { expect, it } from "vitest";
import { type Intent, isSameRequest } from "../../src/task/intent.ts";
import { INTENT, WORK } from "../support/records.ts";

it("what a client asked of a server is not the same request as a command's, though all else is", () => {
  const intent: Intent = { ...INTENT, ...WORK };
  const again: Intent = { ...intent, taskId: "task_another" };
  expect(isSameRequest(intent, again)).toBe(true);
  expect(isSameRequest(intent, { ...intent, server: "0123456789abcdef" })).toBe(false);
});
