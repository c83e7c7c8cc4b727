/**
 * Modules that a library loads for what the program never does, and the code that stands in for them: only what is worth
 * 5 ms of a start or a submit, or what the package, of 1.75 MiB at most, has no room for (353 kB, unpacked, in all).
 */
const STAND_INS = [
  // For subcommands that are programs of their own: 5 ms of a dry run, 6 ms of a submit (processor time, median of 25).
  { library: "commander", module: "node:child_process", code: "export default {};" },
  // Ninety drawings of a spinner, of which ours is the usual one, or on an old terminal a line: 28 kB.
  {
    library: "ora",
    module: "cli-spinners",
    code: `export default {
      dots: { interval: 80, frames: [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"] },
      line: { interval: 130, frames: [..."-\\\\|/"] },
    };`,
  },
  // For settings with a JSON schema, which ours do not have: 137 kB.
  { library: "conf", module: "ajv/dist/2020.js", code: never("Ajv2020") },
  { library: "conf", module: "ajv-formats", code: never("default") },
  // For migrations of settings, of which there are none: 29 kB.
  { library: "conf", module: "semver", code: never("default") },
  // The schemas' library once more, for forms that a server shows to the user; ours shows none: 161 kB.
  {
    library: "@modelcontextprotocol/server",
    module: "@modelcontextprotocol/server/_shims",
    code: `import process from "node:process"; export { process }; export class DefaultJsonSchemaValidator {}`,
  },
];

/** A module with one export, which fails when it is called. */
function never(name) {
  const code = `function unused() { throw new Error("not part of this build"); }`;
  return `${code} export { unused as ${name} };`;
}

export function standIns() {
  const mark = "\0stand-in:";
  return {
    name: "stand-ins",
    resolveId(source, importer = "") {
      const index = STAND_INS.findIndex(
        ({ library, module }) => module === source && folderOf(library).test(importer),
      );
      return index === -1 ? null : mark + index;
    },
    load: (id) => (id.startsWith(mark) ? STAND_INS[id.slice(mark.length)].code : null),
  };
}

const folderOf = (library) => new RegExp(`/${library}/`.replaceAll("/", "[\\\\/]"));
