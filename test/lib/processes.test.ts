import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemProcesses } from "../../src/lib/processes.ts";
import { temporaryFolder } from "../support/program.ts";

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

  it("is false of one that has ended", async () => {
    const { self, isAlive } = systemProcesses();
    const child = await running();
    const other = { ...self, pid: child.pid ?? 0 };
    child.kill("SIGKILL");
    await ended(child);
    expect(isAlive(other)).toBe(false);
  });

  it("is false of a number's former owner", ({ skip }) => {
    if (!tellsStartTimes) return skip("this platform does not tell when a process started");
    const { self, isAlive } = systemProcesses();
    expect(self.started).toMatch(/^\d+$/);
    expect(isAlive({ ...self, started: String(Number(self.started) - 1) })).toBe(false);
  });

  it("is false of one on another machine, which cannot be asked", () => {
    const { self, isAlive } = systemProcesses();
    expect(isAlive({ ...self, host: `${self.host}-other` })).toBe(false);
  });

  it("does not depend on what a process calls itself", async ({ skip }) => {
    if (!tellsStartTimes || !existsSync("/bin/sleep")) return skip("needs /proc and sleep");
    const name = path.join(await temporaryFolder(), "a) R 1 (b");
    await symlink("/bin/sleep", name);
    const child = await running(name, ["60"]);
    const { self, isAlive } = systemProcesses();
    const started = Number(self.started);
    const lately = Array.from({ length: 60_000 }, (_, ticks) => String(started + ticks));
    expect(lately.some((each) => isAlive({ pid: child.pid ?? 0, host: self.host, started: each }))).toBe(
      true,
    );
  });
});
