import { UndecodableError } from "../../../graphics/decoder.ts";
import { errorCode } from "../../../lib/error-code.ts";
import { VERSION } from "../../../lib/version.ts";
import { type CheckResult, type CheckSpec, failed, ok, warning } from "./check.ts";

/** The oldest Node that imggen is tested with, as package.json says too. */
export const OLDEST_NODE = "20.19";

export function checkImggen(): CheckResult {
  return ok(VERSION, { version: VERSION });
}

export function checkNode({ session }: CheckSpec): CheckResult {
  const { nodeVersion: version } = session.context;
  const facts = { version, required: OLDEST_NODE };
  if (isAtLeast(version, OLDEST_NODE)) return ok(version, facts);
  return failed(
    `Node ${version} is too old for imggen.`,
    `Install Node ${OLDEST_NODE} or later: https://nodejs.org`,
    facts,
  );
}

function isAtLeast(version: string, oldest: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** The optional dependencies. They are loaded, because one that is installed may still lack its native code. */
export async function checkLibraries(): Promise<CheckResult> {
  const { fontFile } = await import("../../../graphics/contact-sheet.ts");
  const { sharpVersion } = await import("../../../graphics/decoder.ts");
  try {
    const sharp = await sharpVersion();
    fontFile();
    return ok(`sharp ${sharp}, dejavu-fonts-ttf`, { sharp, fonts: true });
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    return warning(
      `${whatIsMissing(error)}.`,
      "Images are saved without it; previews, thumbnails and contact sheets may need it. Install imggen again to get it.",
    );
  }
}

function whatIsMissing({ message, cause }: UndecodableError): string {
  const isMissing = /MODULE_NOT_FOUND/.test(errorCode(cause) ?? "");
  const clause = isMissing ? message : "the optional package sharp is installed, but cannot be loaded";
  return clause.charAt(0).toUpperCase() + clause.slice(1);
}
