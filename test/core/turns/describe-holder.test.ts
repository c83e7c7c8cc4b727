import { expect, it } from "vitest";
import { describeWorker } from "../../../src/core/turns/describe-holder.ts";
import { identity } from "../../support/some-processes.ts";

const self = identity(1);

it.each([
  ["Another process (pid 2)", identity(2)],
  ["Another call of this process", self],
  ["A process on host gpu-1 (pid 2)", identity(2, "gpu-1")],
  ["Another process", null],
])("%s is who works on a task", (said, worker) => {
  expect(describeWorker(worker, self)).toBe(said);
});
