import { mkdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { runProgram } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A home with two tasks of the sandbox, one with a long prompt. */
async function homeWithTasks(): Promise<{ IMGGEN_HOME: string }> {
  const folder = await temporaryFolder();
  const env = { IMGGEN_HOME: path.join(folder, "home") };
  await mkdir(path.join(folder, "pictures"));
  const output = ["--output", `${path.join(folder, "pictures")}/`, "--sandbox", "--poll-interval", "100ms"];
  for (const prompt of ["an owl", "a red fox in the snow, watercolour, a little sad, on grey paper"])
    expect((await runProgram(["generate", prompt, ...output], { env })).code).toBe(0);
  return env;
}

describe.skipIf(!hasScreen)("a table on a real terminal", () => {
  it.each([100, 80])("of models fits %d columns whole", async (columns) => {
    const screen = await Screen.after(["models"], { columns, rows: 40 });
    const { stdout } = await runProgram(["models"]);
    expect(screen).toEqual(stdout.trimEnd().split("\n"));
  });

  it("of models leaves out what 40 columns have no room for, and says so", async () => {
    const lines = await Screen.after(["models"], { columns: 40, rows: 40 });
    expect(lines[0]).toMatch(/^MODEL +CREDITS$/);
    expect(lines).toContain("gamma-image-2-5-sunburst-text  3 5 8 +");
    expect(lines.join(" ").replaceAll(/ +/g, " ")).toContain(
      "Columns that do not fit: KIND, RATIOS, QUALITIES, IMAGES, REFS.",
    );
    expect(lines.filter((line) => line.includes("REFS:"))).toEqual([]);
  });

  it("of the history has one line a task, and that of its summary whole days and models in 40 columns", async () => {
    const env = await homeWithTasks();
    for (const columns of [100, 80, 40]) {
      const [headings, ...rows] = await Screen.after(["history", "--sandbox"], { columns, env });
      expect(headings).toMatch(/TASK/);
      const row =
        columns === 40
          ? /^\w{8} {2}completed {2}(?:an owl|a red fox in the s…)$/
          : /^(?:now|\d+ min ago) .*[-…]\w{8}\.png$/;
      expect(rows.filter((line) => row.test(line))).toHaveLength(2);
    }
    const lines = await Screen.after(["history", "--summary", "--sandbox"], { columns: 40, env });
    expect(lines[0]).toMatch(/^DAY +MODEL +CREDITS$/);
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d {2}vendor1\/alpha-2 +free$/);
    expect(lines.at(-1)).toBe("Columns that do not fit: TASKS, IMAGES.");
  });

  it("of one model breaks no word in 30 columns", async () => {
    const lines = await Screen.after(["models", "gamma-image-2"], { columns: 30, rows: 60 });
    expect(lines.slice(0, 3)).toEqual(["gamma-image-2", "  kind", "      text-to-image edit"]);
    expect(lines).toContain("      up to 20,000 characters");
  });
});
