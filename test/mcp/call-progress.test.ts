import { describe, expect, it } from "vitest";
import type { TaskProgressEvent } from "../../src/core/engine/events.ts";
import { reportProgress } from "../../src/mcp/mcp-server.ts";
import { steppedClock } from "../support/fake-clock.ts";
import { FOX, sandboxAgent } from "./mcp-world.ts";

/** The progress of one call, and what its client is told. @param progressToken without one it has not asked for that */
function progress(progressToken?: string) {
  const told: unknown[] = [];
  const clock = steppedClock();
  const notify = async ({ params }: { params?: unknown }) => {
    told.push(params);
    throw new Error("the client is gone");
  };
  const _meta = progressToken === undefined ? {} : { progressToken };
  const tenSeconds = async () => {
    clock.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { told, tenSeconds, ...reportProgress({ _meta, notify }, clock) };
}

const file = { path: "/fox.png", url: "", mediaType: "image/png", bytes: 1, sha256: "", width: 1, height: 1 };
const share = { share: 0.4, waiting: null };

describe("a call's progress", () => {
  it.each<[string, TaskProgressEvent]>([
    ["Uploading fox.png…", { type: "uploading", file: "fox.png", bytes: 1 }],
    ["Waiting for another process, which is working on t1.", { type: "claimed_elsewhere", id: "t1" }],
    ["Continuing t1, charged earlier.", { type: "continuing", taskId: "t1", charged: "yes" }],
    ["Continuing t1, begun earlier.", { type: "continuing", taskId: "t1", charged: "no" }],
    ["Continuing t1, begun earlier.", { type: "continuing", taskId: "t1", charged: "unknown" }],
    ["Submitting the request.", { type: "submitting" }],
    [
      "Not sent yet: busy. Next try in 2 s.",
      { type: "submit_retry", why: "busy.", isLost: false, delayMs: 2000 },
    ],
    [
      "It was cut. Next try in 2 s.",
      { type: "submit_retry", why: "it was cut.", isLost: true, delayMs: 2000 },
    ],
    [
      "Stopping. Waiting up to 10 s for the task's id.",
      { type: "submit_interrupted", taskId: null, waitMs: 10_000 },
    ],
    [
      "Stopping. Waiting for the reply of task t1, which is paid for.",
      { type: "submit_interrupted", taskId: "t1", waitMs: null },
    ],
    ["Task t1 accepted.", { type: "accepted", taskId: "t1", request: 0 }],
    ["Waiting for task t1.", { type: "waiting", taskId: "t1", usualMs: null }],
    ["Waiting for task t1, which usually takes 3 s.", { type: "waiting", taskId: "t1", usualMs: 2001 }],
    ["Task t1: generating, 40%.", { type: "progress", taskId: "t1", request: 0, ...share }],
    ["Task t1: reset. Still waiting.", { type: "poll_failed", taskId: "t1", why: "reset" }],
    ["Downloading image 1 of 2 of task t1.", { type: "downloading", taskId: "t1", index: 1, count: 2 }],
    ["Downloading an image of task t1: 9 bytes so far.", { type: "downloaded", taskId: "t1", bytes: 9 }],
    [
      "Task t1: HTTP 503. Next try in 1 s.",
      { type: "download_retry", taskId: "t1", why: "HTTP 503", delayMs: 1000 },
    ],
    ["Saved /fox.png.", { type: "saved", taskId: "t1", file }],
    ["Write down: t1", { type: "ledger_warning", message: "Write down: t1" }],
  ])("%s", (message, event) => {
    const { told, onProgress } = progress("token");
    onProgress(event);
    expect(told).toEqual([{ progressToken: "token", progress: 1, message }]);
  });

  it("is told again every ten seconds, so that no client gives the call up, until the call is over", async () => {
    const { told, tenSeconds, onProgress, stop } = progress("token");
    onProgress({ type: "accepted", taskId: "t1", request: 0 });
    await tenSeconds();
    await tenSeconds();
    stop();
    await tenSeconds();
    const message = "Task t1 accepted.";
    expect(told).toEqual([1, 2, 3].map((count) => ({ progressToken: "token", progress: count, message })));
  });

  it("has no words before anything has happened: the client learns only that the call is in flight", async () => {
    const { told, tenSeconds, stop } = progress("token");
    await tenSeconds();
    stop();
    expect(told).toEqual([{ progressToken: "token", progress: 1 }]);
  });

  it("is told to no client that has not asked for it", async () => {
    const { told, tenSeconds, onProgress, stop } = progress();
    onProgress({ type: "submitting" });
    await tenSeconds();
    stop();
    expect(told).toEqual([]);
  });

  it("goes from the submit to the saved file", async () => {
    const { call } = await sandboxAgent();
    const told: (string | undefined)[] = [];
    await call("generate_image", FOX, { onprogress: ({ message }) => told.push(message) });
    // On a busy machine a heartbeat, which has no words, may come first. A download reports its bytes as they come.
    const messages = told.flatMap((message) => (message === undefined ? [] : message.split(" ", 1)));
    expect([...new Set(messages)]).toEqual(["Submitting", "Task", "Waiting", "Downloading", "Saved"]);
  });
});
