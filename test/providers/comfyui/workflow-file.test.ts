import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readWorkflow, Workflows } from "../../../src/providers/comfyui/workflow-file.ts";
import { pngChunk } from "../../lib/image/builders.ts";
import { workflow } from "../../support/comfyui.ts";
import { PICTURE, sha256 } from "../../support/images.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function read(content: string | Buffer) {
  const file = path.join(await temporaryFolder(), "fox.json");
  await writeFile(file, content);
  return readWorkflow(file, "--workflow");
}

/** A picture with a chunk before its end. */
function withChunk(type: string, data: Buffer): Buffer {
  const end = PICTURE.length - pngChunk("IEND").length;
  return Buffer.concat([PICTURE.subarray(0, end), pngChunk(type, data), PICTURE.subarray(end)]);
}

const GRAPH = workflow();
const JSON_TEXT = JSON.stringify(GRAPH);

describe("a workflow's file", () => {
  it("is one in API format", async () => {
    const { graph, text, sha256: digest } = await read(`\uFEFF${JSON.stringify(GRAPH, null, 2)}`);
    expect(Object.fromEntries(graph)).toEqual(GRAPH);
    expect(digest).toBe(sha256(Buffer.from(text)));
  });

  it.each([
    ["tEXt", Buffer.from(`prompt\0${JSON_TEXT}`)],
    ["zTXt", Buffer.concat([Buffer.from("prompt\0\0"), deflateSync(JSON_TEXT)])],
    ["iTXt", Buffer.from(`prompt\0\0\0\0\0${JSON_TEXT}`)],
    ["iTXt", Buffer.concat([Buffer.from("prompt\0\u0001\0\0\0"), deflateSync(JSON_TEXT)])],
  ])("may be a PNG that ComfyUI saved, with it in a chunk %s", async (type, data) => {
    const { graph } = await read(withChunk(type, data));
    expect(Object.fromEntries(graph)).toEqual(GRAPH);
  });

  it("may hold numbers that are none in JSON, as Python writes them", async () => {
    const text = JSON.stringify({ ...GRAPH, "3": { ...GRAPH["3"], is_changed: [0] } }).replace(
      "[0]",
      "[NaN]",
    );
    expect((await read(text)).graph.size).toBe(7);
  });

  it("is refused in the editor's own format, with the menu entry that exports the right one", async () => {
    await expect(read('{"nodes": [], "links": []}')).rejects.toMatchObject({
      message: expect.stringMatching(/^--workflow: .*fox\.json is in the format of ComfyUI's editor/),
    });
    const hint = await read('{"nodes": []}').catch((error) => error.hint);
    expect(hint).toMatch(/^Nothing was sent\. .*Workflow > Export \(API\)/);
  });

  it.each([
    ["no JSON", "{", /is not a workflow in JSON/],
    ["a list", "[1]", /is not a workflow in JSON/],
    ["nothing in it", "{}", /has no nodes/],
    ["an entry that is no node", '{"3": {"inputs": {}}}', /its entry "3" has no class_type/],
    ["inputs that are none", '{"3": {"class_type": "A", "inputs": [1]}}', /with invalid inputs/],
    ["a reserved id", '{"__proto__": {"class_type": "A"}}', /with an invalid id/],
    ["a reserved input", '{"3": {"class_type": "A", "inputs": {"__proto__": 1}}}', /with invalid inputs/],
    [
      "deep values",
      `{"3": {"class_type": "A", "inputs": {"a": ${"[".repeat(5000)}${"]".repeat(5000)}}}}`,
      /nested/,
    ],
    [
      "too many nodes",
      JSON.stringify(Object.fromEntries(Array.from({ length: 5001 }, (_, id) => [id, { class_type: "A" }]))),
      /more than 5000 nodes/,
    ],
    ["too many bytes", " ".repeat(4 * 1024 * 1024 + 1), /larger than 4 MiB/],
  ])("is refused with %s", async (_what, content, message) => {
    await expect(read(content)).rejects.toThrow(message);
  });

  it("is refused as a PNG without one, or with more than fits", async () => {
    await expect(read(PICTURE)).rejects.toThrow(/a PNG without a workflow/);
    const bomb = deflateSync(Buffer.alloc(8 * 1024 * 1024));
    await expect(read(withChunk("zTXt", Buffer.concat([Buffer.from("prompt\0\0"), bomb])))).rejects.toThrow(
      /a PNG without a workflow/,
    );
    await expect(read(withChunk("tEXt", Buffer.from("prompt\0{")))).rejects.toThrow(/not a workflow in JSON/);
  });

  it("is refused where it cannot be read", () => {
    expect(() => readWorkflow("/nowhere/fox.json", "workflow from config.json")).toThrow(
      /^workflow from config.json: \/nowhere\/fox\.json cannot be read/,
    );
  });
});

describe("the private copy of a workflow", () => {
  /** A workflow that was kept, as a later process reads it. */
  async function kept() {
    const folder = await temporaryFolder();
    const file = path.join(folder, "fox.json");
    await writeFile(file, JSON_TEXT);
    const copies = path.join(folder, "workflows");
    const keep = () => new Workflows({ path: file, label: "--workflow" }, copies).fromFile();
    const workflow = await keep();
    if (workflow === null) throw new Error("no workflow");
    const copy = path.join(copies, `${workflow.sha256}.json`);
    const later = new Workflows(undefined, copies);
    return { ...workflow, keep, copy, read: (name: string) => later.get({ workflow: name }) };
  }

  it("is named by its digest, and read again as the same workflow", async () => {
    const { keep, copy, text, graph, sha256: digest, read } = await kept();
    await keep();
    expect(await readFile(copy, "utf8")).toBe(text);
    expect(read(digest)).toEqual(graph);
  });

  it("is not used once it was changed, and its name is no path", async () => {
    const { copy, sha256: digest, read } = await kept();
    await writeFile(copy, '{"3": {"class_type": "Evil"}}');
    expect(() => read(digest)).toThrow(/was changed/);
    expect(() => read("../../etc/passwd")).toThrow(/digest is invalid/);
  });
});
