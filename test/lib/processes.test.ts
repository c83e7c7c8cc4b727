import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { identifyProcess, isInSameScope, parseIdentity, systemProcesses } from "../../src/lib/processes.ts";
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
  it("is true of this one, whatever its host is called by now", () => {
    const { self, isAlive } = systemProcesses();
    expect(self.pid).toBe(process.pid);
    for (const host of [self.host, `${self.host}-before`]) expect(isAlive({ ...self, host })).toBe(true);
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

  it("is unknown of one on another machine, or that was started before this machine was", () => {
    const { self, isAlive } = systemProcesses();
    for (const boot of ["00000000-0000-0000-0000-000000000000", "elsewhere time:5", ""])
      expect(isAlive({ ...self, scope: self.scope.replace(/^\S+/, boot) })).toBeNull();
  });

  it("is unknown of one in another container, whose numbers mean other processes", ({ skip }) => {
    const { self, isAlive } = systemProcesses();
    if (!/ pid:\[\d+\]$/.test(self.scope)) return skip("needs process namespaces");
    expect(isAlive({ ...self, scope: self.scope.replace(/\[\d+\]$/, "[1]") })).toBeNull();
  });

  it("is told of what earlier releases wrote by its host, number and start alone", () => {
    const { self, isAlive } = systemProcesses();
    const { pid, host, started } = self;
    expect(isAlive({ pid, host, scope: host, started })).toBe(true);
    expect(isAlive({ pid, host: `${host}-other`, scope: `${host}-other`, started })).toBeNull();
  });

  it("is false of a zombie, whose parent has not waited for it", async ({ skip }) => {
    if (!tellsStartTimes || !existsSync("/bin/sh")) return skip("needs /proc and a shell");
    // The shell starts a process and becomes one that never waits for it.
    const parent = spawn("/bin/sh", ["-c", "sleep 0.05 & echo $!; exec sleep 60"]);
    onTestFinished(() => void parent.kill("SIGKILL"));
    const pid = Number(await new Promise((resolve) => parent.stdout.once("data", resolve)));
    const identity = identifyProcess(pid);
    expect(identity).not.toBeNull();
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, "utf8")).toContain(") Z ");
    expect(identity && systemProcesses().isAlive(identity)).toBe(false);
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
    expect(lately.some((each) => isAlive({ ...self, pid: child.pid ?? 0, started: each }))).toBe(true);
  });
});

describe("where the platform tells neither boot ids nor start times", () => {
  const withoutProc = () => systemProcesses("/nowhere");
  const bootedAt = (scope: string, ms: number) => scope.replace(/time:\d+/, `time:${ms}`);

  it("a process is named by when the machine was started, as near as the clock tells", () => {
    const [first, second] = [withoutProc().self, withoutProc().self];
    expect(first.started).toBe("");
    expect(first.scope).toMatch(/ time:\d+$/);
    expect(first.scope.split(" ")[0]).toBe(first.host);
    expect(isInSameScope(first, second)).toBe(true);
  });

  it("a number that is in use again after a reboot is not taken for its former owner", async () => {
    const { self, isAlive } = withoutProc();
    const child = await running();
    const other = { ...self, pid: child.pid ?? 0 };
    expect(isAlive(other)).toBe(true);
    const aMonthAgo = bootedAt(self.scope, Date.now() - 30 * 24 * 3_600_000);
    expect(isAlive({ ...other, scope: aMonthAgo })).toBeNull();
  });

  it("a clock that was corrected by seconds makes no process dead", () => {
    const { self, isAlive } = withoutProc();
    const bootMs = Number(/time:(\d+)/.exec(self.scope)?.[1]);
    for (const seconds of [-30, 30]) {
      expect(isAlive({ ...self, scope: bootedAt(self.scope, bootMs + seconds * 1000) })).toBe(true);
    }
  });
});

describe("a process in a record", () => {
  const process = { pid: 5, host: "here", started: "1" };

  it.each([
    [{ scope: "b pid:[1]" }, "b pid:[1]"],
    [{ boot: "b", pidNamespace: "pid:[1]", thread: 3 }, "b pid:[1]"],
    [{ boot: "time:5" }, "here time:5"],
    [{}, "here"],
  ])("with %j", (fields, scope) => {
    expect(parseIdentity({ ...process, ...fields })).toEqual({ ...process, scope });
  });

  it.each([null, 5, [], {}, { ...process, pid: "5" }, { ...process, started: 1 }, { pid: 5, started: "1" }])(
    "is none in %j",
    (json) => {
      expect(parseIdentity(json)).toBeNull();
    },
  );
});
