import { describe, expect, it } from "vitest";
import { batchId, destinationOf, RowKeys } from "../../../src/core/batch/batch-row.ts";
import { newRow } from "./some-rows.ts";

const PLACE = { folder: "/out", template: "{slug}.{ext}", overwrite: false };

describe("a row's key", () => {
  it("is its content, and which of its equals it is", () => {
    const keys = new RowKeys();
    expect(["a", "b", "a", "a"].map((digest) => keys.next(digest))).toEqual(["a-1", "b-1", "a-2", "a-3"]);
  });
});

describe("a batch's id", () => {
  const id = batchId("https://api.test/api", PLACE.folder);

  it("is of one form, and stays what it is from release to release", () => {
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(id).toBe("e35eafac35a2dfc2");
  });

  it("is another at another service, or in another folder", () => {
    expect(batchId("https://api.test/v2", PLACE.folder)).not.toBe(id);
    expect(batchId("https://api.test/api", "/out/a")).not.toBe(id);
  });
});

describe("where a row's images go", () => {
  it("is the batch's folder, under the template's name", () => {
    expect(destinationOf(newRow(), PLACE)).toEqual({ kind: "folder", ...PLACE });
  });

  it("is the row's own name below it, where it has one", () => {
    expect(destinationOf({ ...newRow(), output: "a/fox.png" }, { ...PLACE, overwrite: true })).toEqual({
      kind: "file",
      path: "/out/a/fox.png",
      overwrite: true,
    });
  });
});
