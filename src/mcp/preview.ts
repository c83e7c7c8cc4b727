import { z } from "zod/v4";
import { thumbnail, UndecodableError } from "../graphics/decoder.ts";
import type { Answer, AnswerImage } from "./answer.ts";

/** Enough to see what is in an image, and little of what an agent can hold. */
const LONGEST_EDGE = 512;

export const PREVIEW_SCHEMA = {
  preview: z
    .boolean()
    .default(false)
    .describe(`Include the image itself, scaled to at most ${LONGEST_EDGE} pixels.`),
};

/** An answer with its images in small, where that is wanted; where one cannot be made, with a word on it. */
export async function withPreviews(answer: Answer, isWanted: boolean): Promise<Answer> {
  const { paths = [] } = answer;
  if (!isWanted || paths.length === 0) return answer;
  try {
    return { ...answer, images: await Promise.all(paths.map(previewOf)) };
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    return { ...answer, result: { ...answer.result, preview: `There is no preview: ${error.message}.` } };
  }
}

async function previewOf(file: string): Promise<AnswerImage> {
  return { data: (await thumbnail(file, LONGEST_EDGE)).toString("base64"), mimeType: "image/webp" };
}
