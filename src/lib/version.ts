/** The build and the test runner replace this name with the version from package.json. */
declare const IMGGEN_VERSION: string;

export const VERSION = IMGGEN_VERSION;
