import { describe, expect, it } from "vitest";
import {
  isTaskId,
  parseEnvelope,
  parsePolledState,
  parseTaskId,
} from "../../../src/providers/service/replies.ts";

describe("an envelope", () => {
  it.each([
    ['{"code":0,"message":"ok","data":{"taskId":"t"}}', { taskId: "t" }],
    ['{"code":0}', undefined],
    ['{"code":0,"message":null,"data":null}', null],
    ['{"code":"0","data":1}', 1],
    ['{"code":-0,"data":1}', 1],
    ['{"code":0,"data":1,"traceId":"x","extra":{}}', 1],
    [' \n{"code":0,"data":1}\n', 1],
    ['{"code":-1,"code":0,"data":1}', 1],
  ])("%s is success", (body, data) => {
    expect(parseEnvelope(body)).toEqual({ kind: "success", data });
  });

  it.each([
    ['{"code":-1,"message":"login_required"}', "login_required"],
    ['{"code":"-1","message":"login_required"}', "login_required"],
    ['{"code":-999,"message":"new.key"}', "new.key"],
    ['{"code":-1,"message":"login_required","data":{"taskId":"t"}}', "login_required"],
    ['{"code":-7}', "code -7"],
    ['{"code":-7,"message":null}', "code -7"],
    ['{"code":-7,"message":{"toString":1}}', "code -7"],
    ['{"code":0,"code":-1,"message":"last.one.counts"}', "last.one.counts"],
  ])("%s is the error %j", (body, key) => {
    expect(parseEnvelope(body)).toEqual({ kind: "error", key });
  });

  it.each([
    ["", "an empty reply"],
    ["  \r\n", "an empty reply"],
    ["<!DOCTYPE html><title>Sign in</title>", "an HTML page"],
    ["Bad gateway", "text that is not JSON"],
    ['{"code":0,"data":{"taskId":"t', "text that is not JSON"],
    ["[]", "JSON that is not in the service's format"],
    ["null", "JSON that is not in the service's format"],
    ["0", "JSON that is not in the service's format"],
    ['"ok"', "JSON that is not in the service's format"],
    ["{}", "JSON that is not in the service's format"],
    ['{"code":null}', "JSON that is not in the service's format"],
    ['{"code":true,"data":1}', "JSON that is not in the service's format"],
    ['{"code":"zero"}', "JSON that is not in the service's format"],
    ['{"code":""}', "JSON that is not in the service's format"],
    ['{"code":[0]}', "JSON that is not in the service's format"],
    ['{"__proto__":{"code":0,"data":1}}', "JSON that is not in the service's format"],
    ['{"code":-1e999,"message":"no"}', "JSON that is not in the service's format"],
    ['{"code":1,"data":{"taskId":"t"}}', "a reply with the unknown code 1"],
    ['{"code":200}', "a reply with the unknown code 200"],
  ])("%j is invalid: %s", (body, why) => {
    expect(parseEnvelope(body)).toEqual({ kind: "invalid", why });
  });

  it("has the key masked in every text, however deep it is and however JSON spells it", () => {
    const mask = (text: string) => text.replaceAll("sk-secret", "sk-…");
    const body =
      '{"code":0,"data":{"resultUrl":["https://x/?k=sk-secret"],"usage":{"by":"\\u0073k-secret"}}}';
    expect(parseEnvelope(body, mask)).toEqual({
      kind: "success",
      data: { resultUrl: ["https://x/?k=sk-…"], usage: { by: "sk-…" } },
    });
    expect(parseEnvelope('{"code":-1,"message":"no sk-secret"}', mask)).toEqual({
      kind: "error",
      key: "no sk-…",
    });
  });

  it("does not take a prototype's fields for its own", () => {
    parseEnvelope('{"code":0,"__proto__":{"polluted":1},"data":{"__proto__":{"polluted":1}}}');
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect(parseTaskId(JSON.parse('{"__proto__":{"taskId":"t"}}'))).toBeNull();
  });
});

describe("a task id", () => {
  it.each(["t", "3f9c", "a b", "task/1", "ünïcode-42", "..", "a..b", "x".repeat(256), "%2e%2e%2f"])(
    "may be %j",
    (id) => {
      expect(parseTaskId({ taskId: id })).toBe(id);
    },
  );

  it.each([
    undefined,
    null,
    7,
    true,
    {},
    ["t"],
    "",
    "   ",
    "../../etc/passwd",
    "a/../b",
    "a\\..\\b",
    "a\0b",
    "a\nb",
    "\u001b[2J",
    "\u009b2J",
    "\ud800",
    "x".repeat(257),
  ])("is never %j", (id) => {
    expect(isTaskId(id)).toBe(false);
    expect(parseTaskId({ taskId: id })).toBeNull();
  });

  it.each([undefined, null, "t", 7, [], ["t"], {}, { taskid: "t" }])("is not in %j", (data) => {
    expect(parseTaskId(data)).toBeNull();
  });
});

describe("a task record", () => {
  const url = "https://cdn.example/1.png";

  it.each([
    [{ status: "completed", resultUrl: url, errorCode: 0 }, [url]],
    [{ status: "completed", resultUrl: url }, [url]],
    [{ status: "completed", resultUrl: url, errorCode: null }, [url]],
    [{ status: "completed", resultUrl: url, errorCode: "0" }, [url]],
    [{ status: "completed", resultUrl: url, errorCode: "" }, [url]],
    [{ status: "completed", resultUrl: url, errorCode: 5 }, [url]],
    [{ status: "completed", resultUrl: url, errorCode: Number.POSITIVE_INFINITY }, [url]],
    [{ status: "completed", resultUrl: [url, `${url}2`] }, [url, `${url}2`]],
    [{ status: "completed", resultUrl: [null, url, "", 7] }, [url]],
    [{ status: "completed", resultUrl: "not a url" }, ["not a url"]],
  ])("%j is completed", (data, urls) => {
    expect(parsePolledState(data)).toEqual({ status: "completed", urls });
  });

  it.each([
    [{ status: "failed", errorCode: 0 }, null],
    [{ status: "failed" }, null],
    [{ status: "failed", resultUrl: url, errorCode: "0" }, null],
    [{ status: "failed", errorCode: 17 }, "17"],
    [{ status: "failed", errorCode: "E_NSFW" }, "E_NSFW"],
    [{ status: "processing", errorCode: 3 }, "3"],
    [{ status: "completed", errorCode: 3 }, "3"],
    [{ errorCode: -1 }, "-1"],
  ])("%j is failed", (data, errorCode) => {
    expect(parsePolledState(data)).toEqual({ status: "failed", errorCode });
  });

  it.each([
    [{}, null],
    [{ status: null }, null],
    [{ status: 7 }, null],
    [{ status: "processing", errorCode: 0 }, "processing"],
    [{ status: "queued", errorCode: "0.0" }, "queued"],
    [{ status: "COMPLETED", resultUrl: url }, "COMPLETED"],
    [{ status: "succeeded", resultUrl: url }, "succeeded"],
    [{ status: "completed" }, "completed"],
    [{ status: "completed", resultUrl: "" }, "completed"],
    [{ status: "completed", resultUrl: null }, "completed"],
    [{ status: "completed", resultUrl: [] }, "completed"],
    [{ status: "completed", resultUrl: [""] }, "completed"],
    [{ status: "completed", resultUrl: { href: url } }, "completed"],
    [{ status: "running", errorCode: false }, "running"],
    [{ status: "running", errorCode: {} }, "running"],
  ])("%j is still running", (data, word) => {
    expect(parsePolledState(data)).toEqual({ status: "running", providerState: word });
  });

  it.each([undefined, null, "completed", 7, true])("%j is none", (data) => {
    expect(parsePolledState(data)).toBeNull();
  });
});

it("what only other kinds of service say is no part of a task's state", () => {
  const lost = { status: "failed", errorCode: 1001, detail: "cut", outcome: "unknown" };
  expect(parsePolledState(lost)).toEqual({ status: "failed", errorCode: "1001" });
  expect(parsePolledState({ status: "queued", ahead: 3 })).toEqual({
    status: "running",
    providerState: "queued",
  });
});
