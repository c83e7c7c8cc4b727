import sharp from "sharp";
import type { PictureSpec } from "../../src/painter/brief.ts";
import { drawPicture } from "../../src/painter/draw-picture.ts";
import { inspect } from "../lib/image/builders.ts";

export type PictureRequest = Omit<PictureSpec, "width" | "height">;

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

/** The size of a picture and its pixels, three bytes each; throws on what a strict reader would refuse. */
export async function decodePng(file: Buffer): Promise<Size & { pixels: Buffer }> {
  const inspection = inspect(file);
  if (!inspection.ok) throw new Error(inspection.detail);
  const image = sharp(file, { failOn: "warning" }).raw();
  const { data, info } = await image.toBuffer({ resolveWithObject: true });
  if (info.channels !== 3) throw new Error(`${info.channels} channels`);
  return { width: info.width, height: info.height, pixels: data };
}
