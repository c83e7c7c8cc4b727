import { modelNames } from "../../../client/generator-terms.ts";
import type { OwnGenerator } from "../../../client/own-generator.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import { unknownToUs } from "../../../models/check.ts";
import type { Matrix } from "../../../models/matrix.ts";
import type { Session } from "../../session/session.ts";

/** The models that are known of the user's own generator, and the others that it lists. @throws ImggenError */
export async function withOwnModels(known: Matrix, own: OwnGenerator, session: Session): Promise<Matrix> {
  const names = await modelNames(own, session.context).catch(async (error) => {
    if (!(error instanceof ImggenError) || known.length === 0) throw error;
    await session.console.warn(`Its own list is left out. ${error.message}`);
    return null;
  });
  const others = (names ?? []).filter((name) => !known.some(({ id }) => id === name));
  return [...known, ...others.map(unknownToUs)];
}
