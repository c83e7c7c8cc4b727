/**
 * Modules that a library loads for what the program never does, and what stands in for them: code, or another module of
 * the library. They would make a start, or a submit, measurably slower, or the package measurably larger.
 */
const STAND_INS = [
  // For subcommands that are programs of their own: 3 ms of every start.
  { library: "commander", module: "node:child_process", code: "export default {};" },
  // For HTTP/2, which is off: 10 ms while the reply to the submit, with the task id in it, may already be there.
  { library: "undici", module: "./client-h2.js", code: "module.exports = {};" },
  // One parser of HTTP for two kinds of processors, of which every one runs the second: 70 kB.
  { library: "undici", module: "../llhttp/llhttp_simd-wasm.js", as: "../llhttp/llhttp-wasm.js" },
  // For settings with a JSON schema, which ours do not have: 110 kB.
  { library: "conf", module: "ajv/dist/2020.js", code: never("Ajv2020") },
  { library: "conf", module: "ajv-formats", code: never("default") },
  // For migrations of settings, of which there are none: 20 kB.
  { library: "conf", module: "semver", code: never("default") },
  // The schemas' library once more, for forms that a server shows to the user; ours shows none: 120 kB.
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
      if (index === -1) return null;
      const { as } = STAND_INS[index];
      return as === undefined ? mark + index : this.resolve(as, importer);
    },
    load: (id) => (id.startsWith(mark) ? STAND_INS[id.slice(mark.length)].code : null),
  };
}

const folderOf = (library) => new RegExp(`/${library}/`.replaceAll("/", "[\\\\/]"));
