import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { inspectFile } from "../../../src/lib/image/inspect.ts";
import { TimeLimitError } from "../../../src/providers/provider.ts";
import { hasTool } from "../../support/tools.ts";
import { ALONE, jobFor, opened, told } from "../job.ts";

const RSVG = "rsvg-convert --width {width} --height {height} --output {output} {promptFile}";
const POVRAY = "povray +I{promptFile} +O{output} +W{width} +H{height} -D";

const command = (line: string) =>
  opened({ kind: "command", name: `command:${line}`, words: line.split(" ") });

const CIRCLE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4" cx="4" cy="4" fill="red"/></svg>';

it("rsvg-convert draws a prompt that is an SVG, in its size, and what it says of another is in the failure", async (test) => {
  test.skip(!hasTool("rsvg-convert"), "rsvg-convert is not installed");
  const generator = await command(RSVG);
  const job = await jobFor({ prompt: CIRCLE, width: 200, height: 200 });
  expect(await generator.submit(job, ALONE)).toEqual({ outcome: "made", usage: null });
  const image = { type: "png", width: 200, height: 200 };
  expect(inspectFile(path.join(job.folder, "image"))).toMatchObject({ ok: true, image });
  expect(told(await generator.submit(await jobFor({ prompt: "a red fox" }), ALONE))).toMatchObject({
    what: "generation_failed",
    message: expect.stringMatching(/^The command failed with exit code 1: Error reading SVG .*prompt\.txt/),
  });
});

it("ImageMagick may leave a picture although it was not let in to the prompt: its exit code decides", async (test) => {
  test.skip(!existsSync("/usr/bin/convert"), "ImageMagick is not installed");
  const generator = await command("/usr/bin/convert -size {width}x{height} caption:@{promptFile} {output}");
  const job = await jobFor();
  expect(told(await generator.submit(job, ALONE))).toMatchObject({
    what: "generation_failed",
    message: expect.stringContaining("not allowed by the security policy"),
  });
  expect(readdirSync(job.folder)).toEqual([]);
});

/** More light than any machine traces within the time limit. */
const SCENE = `#version 3.7;
global_settings { assumed_gamma 1 max_trace_level 200 radiosity { count 1600 recursion_limit 20 error_bound 0.01 } }
camera { location <0,2,-5> look_at 0 }
light_source { <10,10,-10> rgb 1 area_light <5,0,0>, <0,0,5>, 200, 200 }
sphere { 0, 1 pigment { rgb <1,0.4,0.1> } finish { reflection 0.9 } }
plane { y, -1 pigment { checker rgb 1, rgb 0 } finish { reflection 0.5 } }
`;

it("POV-Ray is ended at its time limit: neither its state file nor a process is left", async (test) => {
  test.skip(!hasTool("povray"), "POV-Ray is not installed");
  const generator = await command(POVRAY);
  const limit = new AbortController();
  setTimeout(() => limit.abort(new TimeLimitError("It took too long.")), 4_000);
  const job = await jobFor({ prompt: SCENE, width: 2000, height: 2000 });
  const running = generator.submit(job, { ...ALONE, signal: limit.signal });
  const scratch = path.join(job.folder, "scratch");
  const stateFile = () => readdirSync(scratch).some((name) => name.endsWith(".pov-state"));
  await Promise.race([expect.poll(stateFile).toBe(true), running]);
  expect(processesNaming(job.folder)).not.toEqual([]);
  expect(await running).toMatchObject({ outcome: "unknown", isStopped: true });
  expect(readdirSync(job.folder)).toEqual([]);
  expect(processesNaming(job.folder)).toEqual([]);
});

/** The processes whose arguments name a folder. */
function processesNaming(folder: string): string[] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.filter((id) => argumentsOf(id).includes(folder));
}

function argumentsOf(id: string): string {
  try {
    return readFileSync(`/proc/${id}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
