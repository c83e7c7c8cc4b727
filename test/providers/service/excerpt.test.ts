import { describe, expect, it } from "vitest";
import { keyMasker } from "../../../src/lib/redact.ts";
import { replyExcerpt } from "../../../src/providers/reply-facts.ts";
import { taskIdIn } from "../../../src/providers/service/replies.ts";
import { cpuTimeOf } from "../../support/cpu-time.ts";

const KEY = "sk-canary-5f3e9a7c1b8d2046";
const maskKey = keyMasker(KEY);

describe("the excerpt of a reply", () => {
  it("is its first 4 KiB, in whole characters", () => {
    expect(replyExcerpt("x".repeat(5000), maskKey)).toBe("x".repeat(4096));
    expect(replyExcerpt("é".repeat(5000), maskKey)).toBe("é".repeat(2048));
    expect(replyExcerpt("€".repeat(5000), maskKey)).toBe("€".repeat(1365));
  });

  it("never holds a part of the key, wherever the cut falls", () => {
    for (let before = 4060; before <= 4096; before++) {
      expect(replyExcerpt(`${"x".repeat(before)}${KEY} and more`, maskKey)).not.toContain("canary");
    }
  });

  it("is null where the reply was empty", () => {
    expect(replyExcerpt("", maskKey)).toBeNull();
  });
});

describe("the task id in an excerpt", () => {
  it.each([
    ['{"code":0,"message":"ok","data":{"taskId":"task-1"', "task-1"],
    ['{"taskId" : "a b/c"}', "a b/c"],
    ['<html>{"code":1,"data":{"task_id":"t\\u00e9"}}', "té"],
    ['{"data":{"taskId":17}}', "17"],
    ['{"taskId":"../../etc/passwd","data":{"taskId":"task-2"}}', "task-2"],
    ['{"taskId":"task', null],
    ['{"taskId":null}', null],
    ['{"taskId":"\\u001b[31m"}', null],
    ['{"taskId":"sk-…2046"}', null],
    ["no JSON at all", null],
    ["", null],
    [null, null],
  ])("%j is %j", (excerpt, id) => {
    expect(taskIdIn(excerpt)).toBe(id);
  });

  it("is found in linear time", async () => {
    expect(await cpuTimeOf(() => taskIdIn('"taskId":"\\'.repeat(100_000)))).toBeLessThan(20_000);
  });
});
