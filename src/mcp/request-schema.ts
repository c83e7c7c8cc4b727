import { z } from "zod/v4";
import { DEFAULT_MODEL, MAX_IMAGES, type Matrix, QUALITIES, RATIOS } from "../models/matrix.ts";
import type { FieldName } from "../task/request-fields.ts";

/** The fields of a request as tools take them. The matrix judges their combination, and says what to change. */
export function requestSchema(matrix: Matrix) {
  return {
    prompt: z.string().describe("What the image shows."),
    model: z
      .enum(matrix.map(({ id }) => id))
      .optional()
      .describe(
        `Model; list_models says what each can do and costs. Default: the user's setting, else ${DEFAULT_MODEL}, whose cost is not documented.`,
      ),
    ratio: z
      .string()
      .optional()
      .meta({ examples: RATIOS, description: "Aspect ratio such as 16:9, or auto, as the model allows." }),
    image: z
      .array(z.string())
      .min(1)
      .optional()
      .describe("http(s) URLs of reference images, for a model that edits."),
    maxImages: z
      .int()
      .min(MAX_IMAGES.min)
      .max(MAX_IMAGES.max)
      .optional()
      .describe("Number of images, as the model allows."),
    quality: z.enum(QUALITIES).optional().describe("Quality or resolution, as the model allows."),
  } satisfies Record<FieldName, z.ZodType>;
}
