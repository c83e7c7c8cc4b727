// Loaded into the built program with --import: makes one kind of disk operation fail the way a real disk does.
// IMGGEN_TEST_DISK holds JSON: {operation, code, match, after}. `match` is a part of the path; the first `after`
// operations on such a path go well.
import fs from "node:fs";
import fsp from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const { operation, code, match, after = 0 } = JSON.parse(process.env.IMGGEN_TEST_DISK ?? "{}");
let before = after;

function strikes(name, file) {
  if (name !== operation || !String(file).includes(match)) return false;
  before -= 1;
  return before < 0;
}

function failure(file) {
  // The call that Node would name, for attributes that of a mode.
  const syscall = operation === "attributes" ? "chmod" : operation;
  return Object.assign(new Error(`${code}: made to fail, ${operation} '${file}'`), { code, syscall });
}

const paths = new Map();
const { open, openSync, readFileSync, writeSync, writev, fsync, fdatasync, linkSync } = fs;
const { link } = fsp;

fs.openSync = (file, ...rest) => {
  if (strikes("open", file)) throw failure(file);
  const fd = openSync(file, ...rest);
  paths.set(fd, file);
  return fd;
};
fs.open = (file, flags, mode, callback) => {
  if (strikes("open", file)) return callback(failure(file));
  open(file, flags, mode, (error, fd) => {
    if (!error) paths.set(fd, file);
    callback(error, fd);
  });
};
// How Node reads the program's own code.
fs.readFileSync = (file, ...rest) => {
  if (strikes("load", file)) throw failure(file);
  return readFileSync(file, ...rest);
};
fs.linkSync = (from, to) => {
  if (strikes("link", to)) throw failure(to);
  linkSync(from, to);
};
fsp.link = async (from, to) => {
  if (strikes("link", to)) throw failure(to);
  return link(from, to);
};
/** A write may legally take only some of the bytes. */
const taken = (fd, length) => (strikes("short-write", paths.get(fd)) ? Math.max(1, length >> 1) : length);
fs.writeSync = (fd, bytes, offset, length, position) => {
  if (strikes("write", paths.get(fd))) throw failure(paths.get(fd));
  return writeSync(fd, bytes, offset, length === undefined ? length : taken(fd, length), position);
};
fs.writev = (fd, chunks, callback) => {
  if (strikes("write", paths.get(fd))) return callback(failure(paths.get(fd)));
  const bytes = Buffer.concat(chunks);
  writev(fd, [bytes.subarray(0, taken(fd, bytes.length))], callback);
};
for (const [name, sync] of Object.entries({ fsync, fdatasync })) {
  fs[name] = (fd, callback) =>
    strikes("sync", paths.get(fd)) ? callback(failure(paths.get(fd))) : sync(fd, callback);
}
// A disk that keeps no modes, times and owners, and shows every file as open to all users.
const refuses = (file) => operation === "attributes" && String(file).includes(match);
for (const name of ["chmod", "lchown", "chown", "utimes"]) {
  const { [`${name}Sync`]: now } = fs;
  const { [name]: soon } = fsp;
  fs[`${name}Sync`] = (file, ...rest) => {
    if (refuses(file)) throw failure(file);
    now(file, ...rest);
  };
  fsp[name] = async (file, ...rest) => {
    if (refuses(file)) throw failure(file);
    return soon(file, ...rest);
  };
}
const { fchmod, fchownSync, statSync } = fs;
const { copyFile, stat } = fsp;
fs.fchmod = (fd, mode, callback) =>
  refuses(paths.get(fd)) ? callback(failure(paths.get(fd))) : fchmod(fd, mode, callback);
fs.fchownSync = (fd, ...rest) => {
  if (refuses(paths.get(fd))) throw failure(paths.get(fd));
  fchownSync(fd, ...rest);
};
// It copies the mode too.
fsp.copyFile = async (from, to, ...rest) => {
  if (refuses(to)) throw failure(to);
  return copyFile(from, to, ...rest);
};
const opened = (file, stats) => {
  if (stats !== undefined && refuses(file) && typeof stats.mode === "number") stats.mode |= 0o777;
  return stats;
};
fs.statSync = (file, ...rest) => opened(file, statSync(file, ...rest));
fsp.stat = async (file, ...rest) => opened(file, await stat(file, ...rest));
syncBuiltinESMExports();
