import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { type ProgramOptions, programFailure, runProgram } from "../../src/lib/run-program.ts";
import { isRunning } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const never = new AbortController().signal;
const { PATH } = process.env;
const sh = (script: string, options: Partial<ProgramOptions> = {}) =>
  runProgram(["sh", "-c", script], { env: { PATH }, timeoutMs: 20_000, signal: never, ...options });

it("returns what a program wrote, and how it ended", async () => {
  expect(await sh("echo out; echo err >&2; exit 3")).toEqual({
    kind: "ended",
    code: 3,
    killedBy: null,
    stdout: "out\n",
    stderr: "err\n",
  });
  expect(await sh("kill -TERM $$")).toMatchObject({ kind: "ended", code: null, killedBy: "SIGTERM" });
});

it("keeps the end of a flood on standard error, and kills a program that floods standard output", async () => {
  const err = await sh("seq 100000 >&2");
  expect(err).toMatchObject({ kind: "ended", stdout: "", stderr: expect.stringMatching(/\n100000\n$/) });
  expect(await sh("yes")).toEqual({ kind: "too_much_output" });
});

it("says that a program cannot be started, whatever the reason", async () => {
  const options = { env: {}, timeoutMs: 1000, signal: never };
  expect(await runProgram(["/no/such/program"], options)).toMatchObject({ kind: "not_started" });
  expect(await runProgram(["/"], options)).toMatchObject({ kind: "not_started" });
  expect(await runProgram(["a\0b"], options)).toMatchObject({ kind: "not_started" });
});

it.each(["a time-out", "an abort"])("kills a program and all that it has started, after %s", async (how) => {
  const pids = path.join(await temporaryFolder(), "pids");
  const stop = new AbortController();
  // Both ignore the polite signals.
  const script = `trap '' TERM INT HUP; sh -c "trap '' TERM INT HUP; echo \\$\\$ >> '${pids}'; while :; do sleep 1; done" & echo $$ >> '${pids}'; wait`;
  const isTimeout = how === "a time-out";
  const running = sh(script, isTimeout ? { timeoutMs: 1500 } : { signal: stop.signal });
  let started: number[] = [];
  await expect
    .poll(async () => {
      started = (await readFile(pids, "utf8").catch(() => "")).split("\n").filter(Boolean).map(Number);
      return started.length;
    })
    .toBe(2);
  if (!isTimeout) stop.abort();
  expect((await running).kind).toBe(isTimeout ? "timed_out" : "aborted");
  await expect.poll(() => started.filter(isRunning)).toEqual([]);
});

it("asks a program to end where it has time for that, and then kills it and what it has started", async () => {
  const pids = path.join(await temporaryFolder(), "pids");
  const started = async () => (await readFile(pids, "utf8")).split("\n").filter(Boolean).map(Number);
  const sleeper = `sh -c "trap '' TERM; echo \\$\\$ >> '${pids}'; while :; do sleep 1; done" &`;
  const polite = await sh(`${sleeper} trap 'echo asked; exit 3' TERM; sleep 60 & wait`, {
    timeoutMs: 1500,
    graceMs: 15_000,
  });
  expect(polite).toEqual({ kind: "timed_out", stdout: "asked\n", stderr: "" });
  const deaf = await sh(`trap '' TERM; ${sleeper} wait`, { timeoutMs: 1500, graceMs: 500 });
  expect(deaf.kind).toBe("timed_out");
  expect(await started()).toHaveLength(2);
  await expect.poll(async () => (await started()).filter(isRunning)).toEqual([]);
});

it("asks a program to end at an abort, too, where it has time for that", async () => {
  const file = path.join(await temporaryFolder(), "started");
  const abortedOnce = async (script: string, graceMs: number) => {
    const kill = new AbortController();
    const stop = new AbortController();
    const options = { signal: stop.signal, killSignal: kill.signal, graceMs };
    const running = sh(`rm -f '${file}'; ${script}`, options);
    await expect.poll(() => existsSync(file)).toBe(true);
    stop.abort();
    return { running, kill };
  };
  const polite = await abortedOnce(
    `trap 'echo asked; exit 3' TERM; touch '${file}'; sleep 60 & wait`,
    60_000,
  );
  expect(await polite.running).toEqual({ kind: "stopped", code: 3, stdout: "asked\n", stderr: "" });
  const deaf = await abortedOnce(`trap '' TERM; touch '${file}'; while :; do sleep 1; done`, 1_000);
  expect(await deaf.running).toMatchObject({ kind: "stopped", code: null });
  const hurried = await abortedOnce(`trap '' TERM; touch '${file}'; while :; do sleep 1; done`, 60_000);
  const start = performance.now();
  hurried.kill.abort();
  expect(await hurried.running).toMatchObject({ kind: "stopped", code: null });
  expect(performance.now() - start).toBeLessThan(30_000);
});

it("keeps the end of a flood on standard output where that is asked for", async () => {
  const end = await sh("seq 100000; exit 4", { dropsOutput: true });
  expect(end).toMatchObject({ kind: "ended", code: 4, stdout: expect.stringMatching(/\n100000\n$/) });
  expect(end.kind === "ended" && end.stdout.length).toBe(64 * 1024);
});

it("runs a program in the folder that it is given", async () => {
  const folder = await temporaryFolder();
  expect(await sh("pwd", { cwd: folder })).toMatchObject({ stdout: `${folder}\n` });
});

it("starts nothing once it is aborted", async () => {
  const file = path.join(await temporaryFolder(), "started");
  expect(await sh(`touch '${file}'`, { signal: AbortSignal.abort() })).toEqual({ kind: "aborted" });
  await expect(readFile(file)).rejects.toThrow("ENOENT");
});

it("does not wait for a process that was left behind with the output open", async () => {
  const start = performance.now();
  expect(await sh("sleep 15 & echo out; exit 0")).toMatchObject({ kind: "ended", code: 0, stdout: "out\n" });
  expect(performance.now() - start).toBeLessThan(10_000);
});

it("gives a program no standard input to wait for", async () => {
  expect(await sh("cat; echo end")).toMatchObject({ stdout: "end\n" });
});

const ended = (stderr: string) =>
  programFailure({ kind: "ended", code: 1, killedBy: null, stdout: "", stderr }, "paint", 1000);

it("ends with the last lines that a program said, and shows where they were cut", () => {
  expect(ended("")).toBe("failed with exit code 1");
  expect(ended("one\r\ntwo\n\n three \nfour\n")).toBe("failed with exit code 1: two / three / four");
  expect(ended(`${"a".repeat(400)}z`)).toBe(`failed with exit code 1: …${"a".repeat(299)}z`);
});
