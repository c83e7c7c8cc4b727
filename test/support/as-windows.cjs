// Loaded into the built program with --require: lets it run on another system by the rules of Windows, as far as they
// matter to it. IMGGEN_TEST_IN_USE is how often each rename and each removal of a file fails, as if a virus scanner
// had the file open; with IMGGEN_TEST_EOF, standard output answers as a pipe that its reader has closed.
const fs = require("node:fs");
const os = require("node:os");

os.platform = () => "win32";

const kill = process.kill;
process.kill = (pid, signal) => {
  // Windows has no signals: to send one to a process ends it, and none of its handlers runs.
  if (pid === process.pid && signal !== 0) process.reallyExit(1);
  return kill(pid, signal);
};

const inUse = new Map();
function failsAtFirst(api, name, fail) {
  const change = api[name];
  api[name] = (...args) => {
    const file = `${name} ${args[0]}`;
    const left = inUse.get(file) ?? Number(process.env.IMGGEN_TEST_IN_USE ?? 0);
    inUse.set(file, left - 1);
    if (left <= 0 || !fs.existsSync(args[0])) return change.apply(api, args);
    const code = ["EPERM", "EBUSY", "EACCES"][left % 3];
    return fail(Object.assign(new Error(`${code}: ${file}`), { code }));
  };
}
function toss(error) {
  throw error;
}
for (const name of ["renameSync", "unlinkSync"]) failsAtFirst(fs, name, toss);
for (const name of ["rename", "unlink"]) failsAtFirst(fs.promises, name, (error) => Promise.reject(error));

const writeSync = fs.writeSync;
fs.writeSync = (fd, ...rest) => {
  if (fd === 1 && process.env.IMGGEN_TEST_EOF)
    throw Object.assign(new Error("EOF: end of file, write"), { code: "EOF" });
  return writeSync(fd, ...rest);
};
