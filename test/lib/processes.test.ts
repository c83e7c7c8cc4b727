import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isSameMachine, systemProcesses } from "../../src/lib/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const tellsStartTimes = existsSync("/proc/self/stat");

async function running(command = process.execPath, args = ["-e", "setTimeout(() => {}, 60000)"]) {
  const child = spawn(command, args, { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise((resolve) => child.once("spawn", resolve));
  return child;
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

describe("whether a process is alive", () => {
  it("is true of this one", () => {
    const { self, isAlive } = systemProcesses();
    expect(self.pid).toBe(process.pid);
    expect(isAlive(self)).toBe(true);
  });

  it("does not depend on its thread", () => {
    const { self, isAlive } = systemProcesses();
    expect(self).not.toHaveProperty("thread");
    expect(isAlive({ ...self, thread: 7 })).toBe(true);
  });

  it("is false of what names a group of processes", () => {
    const { self, isAlive } = systemProcesses("/nowhere");
    for (const pid of [0, -1, -process.pid]) expect(isAlive({ ...self, pid })).toBe(false);
  });

  it("is false of one that has ended", async () => {
    const { self, isAlive } = systemProcesses();
    const child = await running();
    const other = { ...self, pid: child.pid ?? 0 };
    child.kill("SIGKILL");
    await ended(child);
    expect(isAlive(other)).toBe(false);
  });

  it("is false of a number's former owner", ({ skip }) => {
    if (!tellsStartTimes) return skip("needs the start times of processes");
    const { self, isAlive } = systemProcesses();
    expect(self.started).toMatch(/^\d+$/);
    expect(isAlive({ ...self, started: String(Number(self.started) - 1) })).toBe(false);
  });

  it("is false of one on another machine, which cannot be asked", () => {
    const { self, isAlive } = systemProcesses();
    expect(isAlive({ ...self, host: `${self.host}-other` })).toBe(false);
  });

  it("is false of one that was started before this machine was, though its number is in use", async () => {
    const { self, isAlive } = systemProcesses();
    expect(self.boot).toBeTruthy();
    expect(isAlive({ ...self, boot: "00000000-0000-0000-0000-000000000000" })).toBe(false);
  });

  it("is false of one in another container, whose numbers mean other processes", ({ skip }) => {
    const { self, isAlive } = systemProcesses();
    if (self.pidNamespace === undefined) return skip("needs process namespaces");
    expect(isAlive({ ...self, pidNamespace: "pid:[1]" })).toBe(false);
  });

  it("is told of what earlier releases wrote by its host, number and start alone", () => {
    const { self, isAlive } = systemProcesses();
    const { pid, host, started } = self;
    expect(isAlive({ pid, host, started })).toBe(true);
    expect(isAlive({ pid, host: `${host}-other`, started })).toBe(false);
  });

  it("does not depend on what a process calls itself", async ({ skip }) => {
    if (!tellsStartTimes || !existsSync("/bin/sleep")) return skip("needs /proc and sleep");
    const name = path.join(await temporaryFolder(), "a) R 1 (b");
    await symlink("/bin/sleep", name);
    const child = await running(name, ["60"]);
    const { self, isAlive } = systemProcesses();
    const started = Number(self.started);
    const ticks = Math.ceil(process.uptime() + 60) * 100;
    const lately = Array.from({ length: ticks }, (_, tick) => String(started + tick));
    expect(lately.some((each) => isAlive({ pid: child.pid ?? 0, host: self.host, started: each }))).toBe(
      true,
    );
  });
});

describe("where the platform tells neither boot ids nor start times", () => {
  const withoutProc = () => systemProcesses("/nowhere");
  const bootedAgo = (ms: number) => `time:${Date.now() - ms}`;

  it("a process is named by when the machine was started, as near as the clock tells", () => {
    const [first, second] = [withoutProc().self, withoutProc().self];
    expect(first).toMatchObject({ started: "", boot: expect.stringMatching(/^time:\d+$/) });
    expect(first).not.toHaveProperty("pidNamespace");
    expect(isSameMachine(first, second)).toBe(true);
  });

  it("a number that is in use again after a reboot is not taken for its former owner", async () => {
    const { self, isAlive } = withoutProc();
    const child = await running();
    const other = { ...self, pid: child.pid ?? 0 };
    expect(isAlive(other)).toBe(true);
    expect(isAlive({ ...other, boot: bootedAgo(30 * 24 * 3_600_000) })).toBe(false);
  });

  it("a clock that was corrected by seconds makes no process dead", () => {
    const { self, isAlive } = withoutProc();
    const boot = Number(self.boot?.slice("time:".length));
    for (const seconds of [-30, 30]) {
      expect(isAlive({ ...self, boot: `time:${boot + seconds * 1000}` })).toBe(true);
    }
  });
});
