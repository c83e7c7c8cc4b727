// Loaded into the built program with --import: makes one kind of disk operation fail the way a real disk does.
// IMGGEN_TEST_DISK holds JSON: {operation, code, match, after}. `match` is a part of the path; the first `after`
// operations on such a path go well.
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
  return Object.assign(new Error(`${code}: made to fail, ${operation} '${file}'`), { code });
}

const paths = new WeakMap();
const { open, link } = fsp;
const probe = await open(process.execPath);
const handles = Object.getPrototypeOf(probe);
await probe.close();
const { write, sync } = handles;

fsp.open = async (file, ...rest) => {
  if (strikes("open", file)) throw failure(file);
  const handle = await open(file, ...rest);
  paths.set(handle, file);
  return handle;
};
fsp.link = async (from, to) => {
  if (strikes("link", to)) throw failure(to);
  return link(from, to);
};
handles.write = function (bytes, offset, length, position) {
  const file = paths.get(this);
  if (strikes("write", file)) return Promise.reject(failure(file));
  // A write may legally take only some of the bytes.
  const taken = strikes("short-write", file) ? Math.max(1, length >> 1) : length;
  return write.call(this, bytes, offset, taken, position);
};
handles.writev = function (chunks) {
  const bytes = Buffer.concat(chunks);
  return this.write(bytes, 0, bytes.length, null);
};
handles.sync = handles.datasync = function () {
  const file = paths.get(this);
  return strikes("sync", file) ? Promise.reject(failure(file)) : sync.call(this);
};
syncBuiltinESMExports();
