import { drawPicture } from "../../src/painter/picture.ts";
import type { PictureRequest } from "../../src/painter/words/brief.ts";

/** What a picture is made for, with everything but the prompt filled in. */
export function requestFor(prompt: string, rest: Partial<PictureRequest> = {}): PictureRequest {
  return { prompt, model: "vendor1/alpha-2", references: "", taskId: "task_1", index: 0, ...rest };
}

export interface Size {
  width: number;
  height: number;
}

/** The whole file of a picture, small unless the test says otherwise: a larger one takes as much longer to paint. */
export async function draw(
  prompt: string,
  { width = 64, height = 64, ...rest }: Partial<PictureRequest & Size> = {},
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of drawPicture({ ...requestFor(prompt, rest), width, height })) chunks.push(chunk);
  return Buffer.concat(chunks);
}
