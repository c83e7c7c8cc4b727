import { describe, expect, it, vi } from "vitest";
import { type OutputStream, writeToReader } from "../../../src/cli/text/output-stream.ts";
import { InterruptedError } from "../../../src/lib/interrupted.ts";

/** A stream whose reader reads when the test says so. */
function unreadStream() {
  const taken: string[] = [];
  const waiting: (() => void)[] = [];
  const stream: OutputStream = {
    write(data, done) {
      taken.push(String(data));
      waiting.push(done);
      return true;
    },
  };
  return { stream, taken, read: () => waiting.shift()?.() };
}

describe("a write to a stream that is not read", () => {
  it("waits for the reader, however long it takes, as long as there is no signal", async () => {
    vi.useFakeTimers();
    const { stream, read } = unreadStream();
    const written = writeToReader(stream, "a", new AbortController().signal);
    await vi.advanceTimersByTimeAsync(3_600_000);
    read();
    expect(await written).toBeNull();
    vi.useRealTimers();
  });

  it("is given up half a second after a signal, and so is every later one", async () => {
    vi.useFakeTimers();
    const { stream, taken } = unreadStream();
    const interruption = new AbortController();
    const written = writeToReader(stream, "a", interruption.signal);
    const reason = new InterruptedError("SIGTERM");
    interruption.abort(reason);
    await vi.advanceTimersByTimeAsync(500);
    expect(await written).toBe(reason);
    expect(await writeToReader(stream, "b", interruption.signal)).toBe(reason);
    expect(taken).toEqual(["a"]);
    vi.useRealTimers();
  });

  it("is not given up where the reader goes on reading in time, after the signal too", async () => {
    vi.useFakeTimers();
    const { stream, read } = unreadStream();
    const interruption = new AbortController();
    const first = writeToReader(stream, "a", interruption.signal);
    interruption.abort(new InterruptedError("SIGINT"));
    await vi.advanceTimersByTimeAsync(400);
    read();
    expect(await first).toBeNull();
    const second = writeToReader(stream, "b", interruption.signal);
    await vi.advanceTimersByTimeAsync(400);
    read();
    expect(await second).toBeNull();
    vi.useRealTimers();
  });
});
