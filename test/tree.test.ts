import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const TEST = import.meta.dirname;

const FILES = readdirSync(TEST, { recursive: true, encoding: "utf8" })
  .map((name) => name.split(path.sep).join("/"))
  .filter((name) => /\.[jt]s$/.test(name) && !name.includes("node_modules/"));

const textOf = (name: string) => readFileSync(path.join(TEST, name), "utf8");

/** The files below `test/` that a file imports, its type imports left out. */
function importsOf(name: string): string[] {
  const found = textOf(name).matchAll(/^(?:import|export) (?!type )[^;]*? from "(\.[^"]+)";/gms);
  return [...found].map(([, to = ""]) => path.posix.join(path.posix.dirname(name), to));
}

/** A file with all that it loads from `test/`. */
function loadedBy(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name) || !FILES.includes(name)) return seen;
  seen.add(name);
  for (const other of importsOf(name)) loadedBy(other, seen);
  return seen;
}

describe("the test tree", () => {
  it("starts imggen or a browser, or builds imggen, in e2e, terminal, faults, crash, interop, binary and bench alone", () => {
    const unit = FILES.filter(
      (name) => name.endsWith(".test.ts") && !/^(e2e|terminal|faults|crash|interop|binary)\//.test(name),
    );
    const starting = unit.filter((name) =>
      [...loadedBy(name)].some(
        (each) => each === "support/program.ts" || /"(rolldown|playwright-core)"/.test(textOf(each)),
      ),
    );
    expect(starting.filter((name) => name !== "tree.test.ts")).toEqual([]);
    expect([...loadedBy("faults/disk.test.ts")]).toContain("support/program.ts");
  });

  it("waits by `pause` and `until` of its support alone", () => {
    const wait = /(?:resolve(?:\w*)?\) =>|await) (?:void )?setTimeout\(|from "node:timers\/promises"/;
    const waiting = FILES.filter(
      (name) => !/^(support|bench|recording)\//.test(name) && wait.test(textOf(name)),
    );
    // A program as text, and a timer that the clock is measured by.
    expect(waiting).toEqual(["faults/callers.test.ts", "lib/clock.test.ts"]);
  });

  it("has no cast that would hide a double from the type that it stands for", () => {
    // Of an object or a call, that is; a test of wrong input may well cast a value.
    const cast = /[}\])]\s*as (?:unknown as|never\b(?=[,;)\]}]))/;
    const casting = FILES.filter((name) => cast.test(textOf(name)));
    expect(casting.filter((name) => name !== "tree.test.ts")).toEqual([]);
  });
});
