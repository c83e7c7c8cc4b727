import { truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { HttpClient } from "../../src/api/http-client.ts";
import { TransportError } from "../../src/api/transport.ts";
import { Base64File, formBody, jsonBody, type PostBody } from "../../src/providers/post-body.ts";
import { liveServer } from "../support/live-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A file of so many bytes, no two neighbours alike. */
async function fileOf(bytes: number): Promise<{ file: string; content: Buffer }> {
  const file = path.join(await temporaryFolder(), "fox.png");
  const content = Buffer.from(Array.from({ length: bytes }, (_, at) => at % 251));
  await writeFile(file, content);
  return { file, content };
}

async function sent({ content }: PostBody) {
  if (typeof content === "string") throw new TypeError("it is not streamed");
  const chunks: Buffer[] = [];
  for await (const chunk of content.chunks()) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  expect(bytes.length).toBe(content.bytes);
  return { bytes, longest: Math.max(...chunks.map(({ length }) => length)) };
}

describe("the body of a request", () => {
  it.each([0, 1, 2, 3, 196_607, 196_608, 600_001])(
    "as JSON has files of %i bytes in base64, in pieces, and says its length before",
    async (size) => {
      const { file, content } = await fileOf(size);
      const images = [new Base64File(file), { image_url: new Base64File(file, "data:image/png;base64,") }];
      const { bytes, longest } = await sent(jsonBody({ prompt: "a “fox”", images, n: 1 }));
      const text = content.toString("base64");
      expect(JSON.parse(bytes.toString())).toEqual({
        prompt: "a “fox”",
        images: [text, { image_url: `data:image/png;base64,${text}` }],
        n: 1,
      });
      expect(longest).toBeLessThanOrEqual(262_144);
    },
  );

  it("as JSON without files is one text", () => {
    expect(jsonBody({ prompt: "a fox" })).toEqual({
      type: "application/json",
      content: '{"prompt":"a fox"}',
    });
  });

  it("as a form has its fields and files, whatever their names are", async () => {
    const { file, content } = await fileOf(300_000);
    const mediaType = "image/png";
    const body = formBody(
      [
        ["prompt", "a fox\n– and “quotes”"],
        ['odd"\r\nname', "--imggen-"],
      ],
      [
        { field: "image[]", file, mediaType },
        { field: "image[]", file, name: 'a"b.png', mediaType },
      ],
    );
    const { bytes, longest } = await sent(body);
    const form = await new Response(new Uint8Array(bytes), {
      headers: { "content-type": body.type },
    }).formData();
    expect(form.get("prompt")).toBe("a fox\r\n– and “quotes”");
    expect([...form.values()][1]).toBe("--imggen-");
    const files = form.getAll("image[]").filter((each) => typeof each !== "string");
    expect(files.map(({ name, type }) => [name, type])).toEqual([
      ["fox.png", mediaType],
      ['a"b.png', mediaType],
    ]);
    for (const each of files) expect(content.equals(Buffer.from(await each.arrayBuffer()))).toBe(true);
    expect(longest).toBeLessThanOrEqual(262_144);
  });

  it.each([1, 600_000])(
    "ends before it is whole where a file has %i bytes by the time it is sent",
    async (now) => {
      const { file } = await fileOf(600_001);
      const { type, content } = jsonBody({ image: new Base64File(file) });
      await truncate(file, now);
      const server = await liveServer(() => {});
      const http = new HttpClient();
      const url = new URL(server.origin);
      const failure = await http
        .send(
          { method: "POST", url, headers: { "content-type": type }, body: content },
          { onHead() {}, onData() {} },
        )
        .catch((error: unknown) => error);
      await http.close();
      expect(failure).toBeInstanceOf(TransportError);
      // Its head has left: what the other side makes of it is not known.
      expect(failure).toMatchObject({ wasSent: true, message: "fox.png changed while it was being sent" });
      expect(server.requests).toEqual([]);
    },
  );
});
