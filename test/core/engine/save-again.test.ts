import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ofOneAccount } from "../../../src/core/engine/deps.ts";
import { resumeFound } from "../../../src/core/engine/resume-task.ts";
import { png } from "../../support/images.ts";
import { workWorld } from "./work-world.ts";

/** A task whose image a provider has sent, and that was saved. */
async function savedTask() {
  const world = await workWorld({ work: { isPaid: false } });
  const [file] = (await world.generate()).files;
  const record = await world.deps.ledger.find("task_1");
  if (!file?.path || record === null) throw new Error("not saved");
  const { path: image } = file;
  const resume = (to: string | null = null) => {
    const destination = to === null ? null : ({ kind: "file", path: to, overwrite: false } as const);
    const wait = { timeoutMs: null, schedule: null };
    return resumeFound(record, { wait, destination }, ofOneAccount(world.deps));
  };
  return { ...world, image, resume };
}

describe("an image that a provider had sent itself, and that is wanted again", () => {
  it("is copied from its file to another place, and costs what it did", async () => {
    const { resume, output, provider } = await savedTask();
    const copy = path.join(output, "copy.png");
    expect(await resume(copy)).toMatchObject({ error: null, charged: "no", files: [{ path: copy }] });
    expect(await readFile(copy)).toEqual(png());
    expect(provider.jobs).toHaveLength(1);
  });

  it("is lost where its file is gone: nothing is asked, and no new charge is spoken of", async () => {
    const { resume, image, provider } = await savedTask();
    await rm(image);
    const { error } = await resume();
    expect(error).toMatchObject({ type: "save_failed", charged: "no" });
    expect(error?.message).toMatch(
      /no longer where it was saved, and could not be saved again\. Its provider/,
    );
    expect(error?.hint).not.toContain("charge");
    expect(provider.jobs).toHaveLength(1);
  });
});
