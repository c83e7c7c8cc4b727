/** Replaced by the build and the test runner, from package.json. */
declare const IMGGEN_VERSION: string;

export const VERSION = IMGGEN_VERSION;
