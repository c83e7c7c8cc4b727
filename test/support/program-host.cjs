// Runs the built program's commands one after the other in this one process, each in the world that its message names:
// starting a process costs more than most commands. Only what ends by itself is run here.
const fs = require("node:fs");
const path = require("node:path");
const { Readable } = require("node:stream");

const { main } = require(path.join(process.argv[2], "dist", "main.cjs"));

Math.random = () => 0;
// The program leaves by its own will once it is done; this process stays for the next command.
const { exit } = process;
process.exit = () => {};
process.on("disconnect", () => exit());
const untouched = { ...process.env };
let said = { stdout: [], stderr: [] };

// The program writes to both streams by their numbers.
const { write, writeSync } = fs;
const STREAMS = { 1: "stdout", 2: "stderr" };
fs.writeSync = (fd, data, ...rest) => {
  if (!(fd in STREAMS)) return writeSync(fd, data, ...rest);
  return said[STREAMS[fd]].push(Buffer.from(data)) && data.length;
};
fs.write = (fd, data, ...rest) => {
  if (!(fd in STREAMS)) return write(fd, data, ...rest);
  said[STREAMS[fd]].push(Buffer.from(data));
  rest.at(-1)(null, data.length);
};

/** Some scenarios have a folder whose file system has no hard links. */
function refuseLink(to) {
  const folder = process.env.IMGGEN_CRASH_NO_LINKS;
  if (!folder || !path.resolve(to).startsWith(`${folder}${path.sep}`)) return;
  throw Object.assign(new Error(`EPERM: no hard links, link '${to}'`), { code: "EPERM" });
}
const { linkSync } = fs;
const { link } = fs.promises;
fs.linkSync = (from, to) => {
  refuseLink(to);
  linkSync(from, to);
};
fs.promises.link = async (from, to) => {
  refuseLink(to);
  return link(from, to);
};

process.on("message", async ({ argv, env, cwd }) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, untouched, env);
  process.chdir(cwd);
  // Nothing is piped in.
  Object.defineProperty(process, "stdin", { value: Readable.from([]), configurable: true });
  said = { stdout: [], stderr: [] };
  const { stdout, stderr } = said;
  const code = await main(argv);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
  process.send({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) });
});
