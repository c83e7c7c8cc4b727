/** Put in place by the build and by the test runner, from package.json. */
declare const IMGGEN_VERSION: string;

/** The release. */
export const VERSION = IMGGEN_VERSION;
