import { describe, expect, it } from "vitest";
import { readManifest } from "../../../src/core/manifest/read-manifest.ts";
import { cpuTimeOf } from "../../support/cpu-time.ts";
import { entriesOf, read } from "./entries.ts";

const csv = (content: string | Uint8Array, size?: number) => read(content, "csv", size);
const OUT_OF_PLACE = /misplaced quote/;

describe("a manifest in CSV", () => {
  it("has a header that names the columns in any order, and a record a row", async () => {
    const text =
      "model,prompt,maxImages,image,output,quality,ratio\n" +
      "z-image,a fox,2,https://a.test/1.png  https://a.test/2.png,foxes/1,2K,1:1\n" +
      ",an owl,,,,,\n";
    expect(await csv(text)).toEqual([
      [
        2,
        {
          prompt: "a fox",
          model: "z-image",
          ratio: "1:1",
          quality: "2K",
          image: ["https://a.test/1.png", "https://a.test/2.png"],
          maxImages: 2,
          output: "foxes/1",
        },
      ],
      [3, { prompt: "an owl" }],
    ]);
  });

  it.each([
    ["steps", 'fields: "steps" must be like steps=20'],
    ["n=4", "fields: n is set by imggen"],
    ["1=2", 'fields: "1" is not a valid name'],
  ])("says what is wrong with the fields %s", async (fields, message) => {
    expect(await csv(`prompt,fields\na fox,${fields}\n`)).toEqual([`2: ${message}`]);
  });

  it.each([1, 7, undefined])(
    "reports each row's line, in chunks of %s bytes, LF and CRLF alike",
    async (size) => {
      const lines = [
        "\ufeffprompt,model",
        "",
        '"a fox, ""red""',
        "",
        'in snow",z-image',
        "",
        "",
        "an owl,z-image",
        '"",z-image',
        '"é🦊",',
      ];
      for (const end of ["\n", "\r\n"]) {
        const rows = [
          [3, { prompt: 'a fox, "red"\n\nin snow', model: "z-image" }],
          [8, { prompt: "an owl", model: "z-image" }],
          "9: the prompt is empty",
          [10, { prompt: "é🦊" }],
        ];
        expect(await csv(lines.join(end), size)).toEqual(rows);
        expect(await csv(`${lines.join(end)}${end}`, size)).toEqual(rows);
      }
    },
  );

  it("reports what is wrong in the order of the lines, a quote that is not closed where it opens", async () => {
    const problems = (await csv('prompt,model\r\n"\n\0')).map((problem) => String(problem).split(":")[0]);
    expect(problems).toEqual(["2", "3"]);
  });

  it("reports lines correctly however many bytes its characters take", async () => {
    const rows = Array.from({ length: 50 }, (_, index) => `"🦊${"é".repeat(index)}\n狐",`).join("\n\n");
    const lines = (await csv(`prompt,model\n${rows}\n`)).map(([line]) => line);
    expect(lines).toEqual(Array.from({ length: 50 }, (_, index) => 2 + 3 * index));
  });

  it("names its columns in any case, with blanks, - or _ between words", async () => {
    const row = [2, { prompt: "a fox", ratio: "1:1", maxImages: 2 }];
    for (const header of ["Prompt,Ratio,Max Images", "PROMPT,RATIO,MAX_IMAGES", "prompt,ratio,max-images"])
      expect(await csv(`${header}\na fox,1:1,2\n`)).toEqual([row]);
  });

  it.each([";", "\t"])("is separated by %j where its header is", async (separator) => {
    const text = ["Prompt,model", '"a fox, red","z-image"', "an owl,z-image,x"].join("\n");
    const quotedComma = text.replaceAll(/,(?! )/g, separator);
    expect(await csv(`\n${quotedComma}`)).toEqual([
      [3, { prompt: "a fox, red", model: "z-image" }],
      `4: 3 cells, but the header has 2; use quotes around a cell that contains a ${separator === ";" ? "semicolon" : "tab"}`,
    ]);
    // Another character in a name does not separate, nor one in quotes.
    expect(await csv(`prompt${separator}a, b\nx${separator}y\n`)).toEqual([[2, { prompt: "x" }]]);
    expect(await csv(`"a${separator}b",prompt\ny,x\n`)).toEqual([[2, { prompt: "x" }]]);
  });

  it("refuses a column that is only near a known one, unless a template asks for it", async () => {
    const near = (name: string, meant: string) =>
      `1: unknown column "${name}"; did you mean "${meant}"? If not, rename the column`;
    expect(await csv("prompt,Raito,qualty,quantity,page\na,b,c,d,e\n")).toEqual([
      near("Raito", "ratio"),
      near("qualty", "quality"),
      [2, { prompt: "a" }],
    ]);
    expect(await csv("promt,model\na,b\n")).toEqual([near("promt", "prompt")]);
    const options = { template: "a {mode} fox", name: "{images}-{task}" };
    expect(await entriesOf("mode,images\nred,3\n", "csv", undefined, options)).toMatchObject([
      { values: { prompt: "a red fox" } },
    ]);
  });

  it("keeps blanks in a prompt, and none around anything else", async () => {
    expect(await csv(" prompt , model\n a fox , z-image \n")).toEqual([
      [2, { prompt: " a fox ", model: "z-image" }],
    ]);
  });

  it.each([
    ["prompt\n", "1: the manifest has no rows"],
    ["", "1: the manifest has no rows"],
    ["\n\n", "1: the manifest has no rows"],
    ["model\nz-image\n", "1: the column prompt is missing"],
    ["prompt,prompt,prompt\na,b,c\n", "1: the column prompt occurs more than once"],
    [
      "prompt,model\na,b,c\n",
      "2: 3 cells, but the header has 2; use quotes around a cell that contains a comma",
    ],
    ["prompt,maxImages\na,two\n", '2: maxImages is "two", not a whole number'],
    ["prompt,maxImages\na,1.0\n", '2: maxImages is "1.0", not a whole number'],
    ["prompt,output\na,../b\n", '2: output "../b": it must not leave the output folder'],
    ["prompt,model\n   ,z-image\n", "2: the prompt is empty"],
    ["\n\na fox,z-image\n", /^3: the first record has no known column; known columns: prompt, model/],
    [
      "prompt|model\na|b\n",
      "1: the first record has no known column; columns are separated by commas, semicolons or tabs",
    ],
  ])("refuses %j", async (text, problem) => {
    const found = await csv(text);
    const told = found.filter((each) => typeof each === "string");
    expect(told).toEqual([typeof problem === "string" ? problem : expect.stringMatching(problem)]);
  });

  it("reports all that is wrong with a header", async () => {
    expect(await csv("text,model,Model,colour,ratios,\na,b,c,d,e,f\n")).toEqual([
      "1: the column prompt is missing",
      '1: unknown column "ratios"; did you mean "ratio"? If not, rename the column',
      "1: the column model occurs more than once",
    ]);
  });

  it.each([
    ["sep=;\nprompt;model\na, b;z-image\n", 3],
    ['"sep=;"\r\nprompt;model\r\na, b;z-image\r\n', 3],
    ["\ufeffsep=\t\nprompt\tmodel\na, b\tz-image\n", 3],
    ["SEP=|\nprompt|model\na, b|z-image\n", 3],
    ["sep=;;;\nprompt;model;;\na, b;z-image;;\n;;;\n", 3],
    ["prompt;model;ratio\n;;\n \n;;\na, b;z-image\n;;;\n", 5],
    ["prompt;model;;\na, b;z-image;;;;\n", 2],
  ])("is read as a spreadsheet writes it: %j", async (text, line) => {
    expect(await csv(text)).toEqual([[line, { prompt: "a, b", model: "z-image" }]]);
  });

  it("has the lines of its rows after rows of separators", async () => {
    expect(await csv('sep=,\nprompt,model\n,\n"a\nb",\n,\n,z-image\n')).toEqual([
      [4, { prompt: "a\nb" }],
      "7: the prompt is empty",
    ]);
  });

  it("keeps the cells of other columns by their names, for templates", async () => {
    const entries = await entriesOf("prompt,Mood,colour\na, b , red \n,b,\n", "csv");
    expect(entries).toEqual([
      {
        line: 2,
        values: { prompt: "a" },
        others: new Map([
          ["Mood", "b"],
          ["colour", "red"],
        ]),
      },
      { line: 3, message: "the prompt is empty" },
    ]);
  });

  it("makes the prompt of rows without one from a template, of any of their columns", async () => {
    const options = { template: "a {colour} fox, {style}, {ratio}" };
    const rows = ["colour,style,ratio,prompt", "red,oil,1:1,", "blue,,4:3,", "grey,ink,4:3,my own"];
    const entries = await entriesOf(rows.join("\n"), "csv", undefined, options);
    expect(entries).toMatchObject([
      { values: { prompt: "a red fox, oil, 1:1", ratio: "1:1" } },
      { line: 3, message: "the row has no value for {style}, which the template uses" },
      { values: { prompt: "my own" } },
    ]);
    const without = await entriesOf("colour,style,ratio\nred,oil,1:1\n", "csv", undefined, options);
    expect(without).toMatchObject([{ values: { prompt: "a red fox, oil, 1:1" } }]);
  });

  it("says once that it lacks a column of the template, and which one was meant", async () => {
    const options = { template: "a {color} fox, {light}" };
    const entries = await entriesOf("colour,style\nred,oil\nblue,ink\n", "csv", undefined, options);
    expect(entries).toMatchObject([
      { line: 1, message: 'the template needs the column "color", which is missing; did you mean "colour"?' },
      { line: 1, message: 'the template needs the column "light", which is missing' },
    ]);
  });

  it("refuses quotes out of place at their line, and reads on behind them", async () => {
    const text =
      "prompt,model\n" +
      '"a "red" fox",z-image\n' +
      "an owl,z-image\n" +
      '5" tall,z-image\n' +
      "\n" +
      '"two\nlines",z-image\n' +
      'x,"bad" one\n' +
      '"more",\n' +
      "a cat,z-image\n";
    expect(await csv(text)).toEqual([
      expect.stringMatching(/^2: cell 1: misplaced quote; inside a quoted cell/),
      [3, { prompt: "an owl", model: "z-image" }],
      expect.stringMatching(/^4: cell 1: misplaced quote; use quotes around a cell that contains a quote/),
      [6, { prompt: "two\nlines", model: "z-image" }],
      expect.stringMatching(/^8: cell 2: misplaced quote/),
      [9, { prompt: "more" }],
      [10, { prompt: "a cat", model: "z-image" }],
    ]);
  });

  it.each([
    ['"\n', 1],
    ['prompt\n"\n', 2],
    ['prompt,model\na,b\n"a fox\n\nan owl,z-image\n', 3],
    ['prompt,model\n\n\n"a fox', 4],
    ['prompt,model\n"a",b\n"two\nlines","open\n', 4],
  ])("reports the line of a quote that is not closed: %j", async (text, line) => {
    const found = await csv(text);
    expect(found.at(-1)).toMatch(new RegExp(`^${line}: cell \\d: unclosed quote$`));
    expect(found.filter((each) => typeof each === "string")).toHaveLength(1);
  });

  it("reads nothing below a header that is broken", async () => {
    expect(await csv('"prompt"x",model\na,b\nc,d\n')).toEqual([expect.stringMatching(OUT_OF_PLACE)]);
  });

  it("keeps out a row with bytes that are no text, and only that", async () => {
    const text = Buffer.from('prompt,model\na,b\n"c\n\xff",d\ne,f\n', "latin1");
    expect(await csv(text)).toEqual([
      [2, { prompt: "a", model: "b" }],
      "4: not valid UTF-8 (at byte 20); save it as UTF-8",
      [5, { prompt: "e", model: "f" }],
    ]);
  });

  it("keeps out a line or a record that is too long, and a quote that is never closed", async () => {
    const long = "x".repeat(1024 * 1024 + 1);
    expect(await csv(`prompt,model\na,b\n"${long}\nc,d"\ne,f\n`)).toEqual([
      [2, { prompt: "a", model: "b" }],
      "3: longer than 1 MiB",
      [5, { prompt: "e", model: "f" }],
    ]);
    const lines = "a fox,z-image\n".repeat(100_000);
    expect(await csv(`prompt,model\n"open,b\n${lines}"\nc,d\n`)).toEqual([
      "2: a record longer than 1 MiB (is a quote unclosed?)",
      [100_004, { prompt: "c", model: "d" }],
    ]);
    expect(await csv(`prompt,model\n"open,b\n${lines}`)).toEqual(["2: cell 1: unclosed quote"]);
  });

  it("names every quote out of place, in a time that grows with the text alone", async () => {
    const cost = await cpuTimeOf(async () => {
      expect(await csv(`prompt,model\n${'5" tall,z-image\n'.repeat(1000)}`)).toHaveLength(1000);
      expect(await csv(`prompt\n${'x"'.repeat(500_000)}\n`)).toEqual([expect.stringMatching(OUT_OF_PLACE)]);
      expect(await csv(`prompt\n"${'""'.repeat(500_000)}"\n`)).toHaveLength(1);
    });
    expect(cost).toBeLessThan(40_000);
  });
});

describe("the source of a manifest in CSV", () => {
  it("has its error passed on", async () => {
    async function* source() {
      yield Buffer.from("prompt\na\n");
      throw new Error("the disk is gone");
    }
    const reading = async () => {
      for await (const entry of readManifest(source(), "csv")) expect(entry).toBeDefined();
    };
    await expect(reading()).rejects.toThrow("the disk is gone");
  });

  it("is closed at 256 MiB, and the manifest refused", async () => {
    let isClosed = false;
    const chunk = Buffer.from("a\n".repeat(512 * 1024));
    async function* source() {
      try {
        yield Buffer.from("prompt\n");
        for (;;) yield chunk;
      } finally {
        isClosed = true;
      }
    }
    const entries = [];
    for await (const entry of readManifest(source(), "csv")) entries.push(entry);
    expect(entries).toEqual([{ line: 1, message: "the manifest is longer than 256 MiB; split it" }]);
    expect(isClosed).toBe(true);
  });
});
