import type { DrawPicture } from "../../src/painter/draw-picture.ts";
import { buildPng, pngChunk } from "../lib/image/builders.ts";

/** The signature and the header of a PNG file. */
const BEGINNING_BYTES = 33;

const grey = new Map<string, Buffer>();

/**
 * A grey image of the size that was asked for, other bytes for each image of each task: to paint what the prompt says
 * takes the sandbox up to some seconds, and a test that does not look at it needs none of that.
 */
export const plainPicture: DrawPicture = async function* ({ width, height, taskId, index }) {
  const size = `${width}x${height}`;
  const image = grey.get(size) ?? buildPng(width, height);
  grey.set(size, image);
  const name = pngChunk("tEXt", Buffer.from(`Title\0${taskId} ${index}`, "latin1"));
  yield Buffer.concat([image.subarray(0, BEGINNING_BYTES), name, image.subarray(BEGINNING_BYTES)]);
};
