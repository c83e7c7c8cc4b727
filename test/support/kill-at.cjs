// Loaded into the built program with --require: kills it with SIGKILL just before one operation on a file.
// IMGGEN_TEST_KILL_AT holds JSON: {operation, match}, a synchronous function of node:fs, and a part of the path that
// is its first argument. A file that is not there does not count.
const fs = require("node:fs");

const { operation, match } = JSON.parse(process.env.IMGGEN_TEST_KILL_AT ?? "{}");
const original = fs[operation];

fs[operation] = (target, ...rest) => {
  if (String(target).includes(match) && fs.existsSync(target)) process.kill(process.pid, "SIGKILL");
  return original(target, ...rest);
};
