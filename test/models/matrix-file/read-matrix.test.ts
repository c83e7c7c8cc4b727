import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { UsageError } from "../../../src/lib/error-types.ts";
import { type Matrix, MODELS } from "../../../src/models/matrix.ts";
import { MatrixProblem } from "../../../src/models/matrix-file/matrix-schema.ts";
import { mergeMatrix, readMatrix } from "../../../src/models/matrix-file/read-matrix.ts";
import { cpuTimeOf } from "../../support/cpu-time.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function fileOf(content: string | Buffer): Promise<string> {
  const file = path.join(await temporaryFolder(), "models.json");
  await writeFile(file, content);
  return file;
}

it.each(["", "\uFEFF"])("a matrix file is read, after %j", async (mark) => {
  const matrix = readMatrix(await fileOf(`${mark}[{"id": "new/one"}]\n`), "");
  expect(matrix.at(-1)).toMatchObject({ id: "new/one" });
});

it.each([
  ["an empty file", "", "it is empty"],
  ["a blank file", " \n", "it is empty"],
  ["a byte-order mark alone", "\uFEFF", "it is empty"],
  ["what is not JSON", "models", /: it is not JSON: /],
  [
    "JSON with an error, by its line",
    '[\n  {"id": "a"}\n  {"id": "b"}\n]',
    /: it is not JSON: .* in line 3\.$/,
  ],
  ["JSON that is cut short", '[{"id": "a"', /: it is not JSON: /],
  ["a wrong field", '[{"id": "a", "kinds": 1}]', "models[0].kinds must be a list, not 1"],
  ["what is not UTF-8, by its offset", Buffer.from([0x5b, 0xff, 0x5d]), "it is not UTF-8 at byte 1"],
  ["a file that is too large", Buffer.alloc(1024 * 1024 + 1, " "), "it is larger than 1 MiB"],
])("%s is refused, with the file and the hint", async (_what, content, why) => {
  const file = await fileOf(content);
  const read = () => readMatrix(file, "Nothing was sent.");
  expect(read).toThrow(UsageError);
  expect(read).toThrow(expect.objectContaining({ hint: "Nothing was sent." }));
  expect(read).toThrow(`The model matrix ${file} cannot be used: `);
  expect(read).toThrow(typeof why === "string" ? ` cannot be used: ${why}.` : why);
});

it("a file that is not there, a folder, a named pipe and a device are refused, and nothing waits", async () => {
  const folder = await temporaryFolder();
  const pipe = path.join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  await mkdir(path.join(folder, "folder"));
  for (const [file, why] of [
    [path.join(folder, "none"), "no such file or folder (ENOENT)"],
    [path.join(folder, "folder"), "it is a folder"],
    [pipe, "it is not a regular file"],
    ["/dev/zero", "it is not a regular file"],
  ] as const)
    expect(() => readMatrix(file, "")).toThrow(`The model matrix ${file} cannot be used: ${why}.`);
});

it.skipIf(process.getuid?.() === 0)("a file without permission to read it is refused", async () => {
  const file = await fileOf("[]");
  await chmod(file, 0);
  expect(() => readMatrix(file, "")).toThrow("permission denied");
});

const find = (matrix: Matrix, id: string) => matrix.find((model) => model.id === id);

describe("a matrix file", () => {
  it("of the built-in models, or of none, changes nothing", () => {
    for (const list of [JSON.parse(JSON.stringify(MODELS)), []]) expect(mergeMatrix(list)).toEqual(MODELS);
  });

  it("adds other models after the built-in ones, with what is usual where an entry says nothing", () => {
    const merged = mergeMatrix([{ id: "new/two", kinds: ["edit"] }, { id: "new/one" }]);
    expect(merged.slice(0, MODELS.length)).toEqual(MODELS);
    const usual = {
      kinds: null,
      ratios: null,
      defaultRatio: "1:1",
      qualities: null,
      defaultQuality: null,
      maxImages: null,
      promptLimit: 1000,
      references: null,
      credits: null,
      documented: true,
      notes: [],
    };
    expect(merged.slice(MODELS.length)).toEqual([
      { id: "new/two", ...usual, kinds: ["edit"] },
      { id: "new/one", ...usual },
    ]);
  });

  it("takes every field", () => {
    const entry = {
      id: "new/one",
      kinds: ["text-to-image", "edit"],
      ratios: ["5:7", "auto"],
      defaultRatio: "auto",
      qualities: ["2K"],
      defaultQuality: "2K",
      maxImages: 3,
      promptLimit: 77,
      references: { min: 0, max: null, httpsOnly: true },
      credits: { "2K": 0, default: 7 },
      documented: false,
      notes: ["new"],
    };
    expect(find(mergeMatrix([entry]), "new/one")).toEqual(entry);
  });
});

const at = (id: string, fields: object) => [{ id: "z-image" }, { id, ...fields }];

it.each([
  [{}, 'it must be a list of models ([{"id": …}, …]), not an object'],
  ["z-image", 'it must be a list of models ([{"id": …}, …]), not "z-image"'],
  [null, 'it must be a list of models ([{"id": …}, …]), not null'],
  [[null], "models[0] must be an object, not null"],
  [[[]], "models[0] must be an object, not a list"],
  [[{}], "models[0].id is missing"],
  [[{ id: 7 }], "models[0].id must be an id of at most 128 characters without spaces and commas, not 7"],
  [at("", {}), 'models[1].id must be an id of at most 128 characters without spaces and commas, not ""'],
  [at("a,b", {}), /^models\[1\]\.id must be an id .*, not "a,b"$/],
  [at("a\u0000", {}), /^models\[1\]\.id must be an id .*, not "a\\u0000"$/],
  [at("a".repeat(129), {}), /^models\[1\]\.id must be an id .*…$/],
  [at("z-image", {}), 'models[1].id "z-image" is the id of models[0] too'],
  [at("Z-Image", {}), 'models[1].id "Z-Image" is the id of models[0] too'],
  [[{ id: "Delta-image" }], 'models[0].id "Delta-image" differs from the built-in delta-Image only in case'],
  [at("a", { kinds: ["text"] }), 'models[1].kinds[0] must be one of text-to-image, edit, not "text"'],
  [at("a", { kinds: [] }), "models[1].kinds must not be empty; use null if it is unknown"],
  [at("a", { kinds: "edit" }), 'models[1].kinds must be a list, not "edit"'],
  [at("a", { kinds: ["edit", "edit"] }), "models[1].kinds[1] is in the list already"],
  [
    at("a", { ratios: ["1:1", "16x9"] }),
    'models[1].ratios[1] must be width:height in whole numbers, or auto, not "16x9"',
  ],
  [at("a", { ratios: [] }), "models[1].ratios must not be empty; use null if it is unknown"],
  [
    at("a", { ratios: ["16:9"] }),
    "models[1].defaultRatio is missing, and its built-in value 1:1 is not in models[1].ratios",
  ],
  [
    at("a", { ratios: ["16:9"], defaultRatio: "3:2" }),
    "models[1].defaultRatio is 3:2, which is not in models[1].ratios",
  ],
  [
    [{ id: "gamma-image-2", ratios: ["1:1"] }],
    "models[0].defaultRatio is missing, and its built-in value auto is not in models[0].ratios",
  ],
  [at("a", { defaultRatio: null }), /^models\[1\]\.defaultRatio must be width:height .*, not null$/],
  [at("a", { qualities: ["8K"] }), 'models[1].qualities[0] must be one of basic, high, 1K, 2K, 4K, not "8K"'],
  [at("a", { qualities: ["2k"] }), 'models[1].qualities[0] must be one of basic, high, 1K, 2K, 4K, not "2k"'],
  [
    at("a", { qualities: [], defaultQuality: "1K" }),
    "models[1].defaultQuality is 1K, which is not in models[1].qualities",
  ],
  [at("a", { maxImages: 16 }), "models[1].maxImages must be a whole number from 1 to 15, not 16"],
  [at("a", { maxImages: 0 }), "models[1].maxImages must be a whole number from 1 to 15, not 0"],
  [at("a", { maxImages: "4" }), 'models[1].maxImages must be a whole number from 1 to 15, not "4"'],
  [at("a", { promptLimit: 0 }), "models[1].promptLimit must be a whole number of 1 or more, not 0"],
  [at("a", { promptLimit: 1.5 }), "models[1].promptLimit must be a whole number of 1 or more, not 1.5"],
  [at("a", { promptLimit: null }), "models[1].promptLimit must be a whole number of 1 or more, not null"],
  [at("a", { references: 4 }), "models[1].references must be an object, not 4"],
  [at("a", { references: { min: 1 } }), "models[1].references.max is missing"],
  [at("a", { references: { min: 2, max: 1, httpsOnly: false } }), "models[1].references.max is below min"],
  [
    at("a", { references: { min: 0, max: 1, httpsOnly: 1 } }),
    "models[1].references.httpsOnly must be true or false, not 1",
  ],
  [
    at("a", { references: { min: 0, max: 1, httpOnly: true } }),
    "models[1].references.httpOnly is not a field; the nearest is httpsOnly",
  ],
  [at("a", { credits: { "1K": -2 } }), 'models[1].credits["1K"] must be a whole number of 0 or more, not -2'],
  [
    at("a", { credits: { default: "2" } }),
    'models[1].credits.default must be a whole number of 0 or more, not "2"',
  ],
  [
    at("a", { credits: { "8K": 2 } }),
    /^models\[1\]\.credits\["8K"\] is not a field; the fields are basic, high, 1K, 2K, 4K, default$/,
  ],
  [at("a", { credits: {} }), "models[1].credits must not be empty; use null if it is unknown"],
  [at("a", { credits: 2 }), "models[1].credits must be an object, not 2"],
  [at("a", { documented: "yes" }), 'models[1].documented must be true or false, not "yes"'],
  [at("a", { notes: [""] }), 'models[1].notes[0] must be a text, not ""'],
  [at("a", { notes: null }), "models[1].notes must be a list, not null"],
  [at("a", { ratio: ["1:1"] }), "models[1].ratio is not a field; the nearest is ratios"],
  [at("a", { "max images": 1 }), 'models[1]["max images"] is not a field; the nearest is maxImages'],
  [at("a", { colour: "red" }), /^models\[1\]\.colour is not a field; the fields are id, kinds, ratios, /],
  [JSON.parse('[{"id": "a", "__proto__": {}}]'), /^models\[0\]\["__proto__"\] is not a field/],
  [at("a", { constructor: 1 }), /^models\[1\]\.constructor is not a field/],
])("a matrix file is refused, with the path of what is wrong: %j", (document, message) => {
  expect(() => mergeMatrix(document)).toThrow(MatrixProblem);
  expect(() => mergeMatrix(document)).toThrow(
    typeof message === "string" ? expect.objectContaining({ message }) : message,
  );
});

it("a list of many values is checked at once", async () => {
  const notes = Array.from({ length: 100_000 }, (_, index) => `note ${index}`);
  const list = [{ id: "a", notes }];
  const cost = await cpuTimeOf(() => expect(find(mergeMatrix(list), "a")?.notes).toEqual(notes));
  expect(cost).toBeLessThan(20_000);
});
