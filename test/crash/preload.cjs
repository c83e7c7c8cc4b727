// Loaded into the built program with --require: numbers its file operations below the folders of a run, writes
// each into a log, and stops the program at the one it was told to. IMGGEN_CRASH holds JSON: `folders` (what
// counts), `log` (a file), `limbo` (a folder for what the program removes, so that a power cut can bring it
// back), and where something is to happen `at` (the operation's number) and `mode`:
//   kill-before, kill-after   SIGKILL, before the operation or after it succeeded
//   half-written              half of a write's bytes reach the disk, then SIGKILL
//   short                     a write takes half of its bytes and says so, which it legally may
//   EIO                       this operation fails
//   ENOSPC                    the disk is full from here on: a write takes half of its bytes, and what comes
//                             after finds only the room that the program makes by removing files
const fs = require("node:fs");
const fsp = require("node:fs/promises");
const path = require("node:path");

const { folders, log, limbo, at, mode } = JSON.parse(process.env.IMGGEN_CRASH);
const { constants, existsSync, fstatSync, linkSync, lstatSync, openSync, writeSync } = fs;
const { open, mkdir, link, rename, unlink } = fsp;

// Waits between tries are drawn from nothing up to a limit; here the draw is always nothing.
Math.random = () => 0;

const logFile = openSync(log, "a", 0o600);
let count = 0;
/** Bytes that are free on the disk once it is full; null before that. */
let room = null;

const note = (entry) => writeSync(logFile, `${JSON.stringify({ pid: process.pid, ...entry })}\n`);
const isWatched = (file) =>
  folders.some((folder) => file === folder || file.startsWith(`${folder}${path.sep}`));
const die = () => process.kill(process.pid, "SIGKILL");

function fail(code, name, file) {
  const message = `${code}: made to fail, ${name} '${file}'`;
  throw Object.assign(new Error(message), { code, syscall: name, path: file });
}

/**
 * Does one operation, or what the mode makes of it. `action.run` does it whole; `part` writes that many bytes;
 * `facts` and `outcome` are for the log; `whenFailed` is done even by one that fails.
 */
async function operation(name, kind, file, action) {
  if (!isWatched(file)) return action.run();
  count += 1;
  const number = count;
  const struck = number === at ? mode : null;
  note({ number, name, kind, file, ...action.facts });
  if (struck === "kill-before") die();
  if (struck === "half-written") await action.part?.(action.bytes >> 1);
  if (struck === "half-written") die();
  if (struck === "short" && action.part) return action.part(Math.max(1, action.bytes >> 1));
  if (struck === "EIO") {
    await action.whenFailed?.();
    fail("EIO", name, file);
  }
  if (struck === "ENOSPC") {
    room = (action.bytes ?? 0) >> 1;
    if (kind === "sync") fail("ENOSPC", name, file);
  }
  const result = await withinRoom(name, kind, file, action);
  note({ number, done: true, ...action.outcome?.(result) });
  if (struck === "kill-after") die();
  return result;
}

async function withinRoom(name, kind, file, action) {
  if (room === null) return action.run();
  if (room === 0 && (kind === "create" || (kind === "write" && action.bytes > 0))) fail("ENOSPC", name, file);
  if (kind !== "write") return action.run();
  const result = await action.part(Math.min(room, action.bytes));
  room -= result.bytesWritten;
  return result;
}

/** Gives a file that is about to go another name, in limbo; null where there is none. */
function keep(file) {
  try {
    const { size, nlink } = lstatSync(file);
    const kept = path.join(limbo, `${process.pid}-${count}`);
    linkSync(file, kept);
    return { kept, frees: nlink === 1 ? size : 0 };
  } catch {
    return { kept: null, frees: 0 };
  }
}

const FLAGS = { r: constants.O_RDONLY, "r+": constants.O_RDWR };

fsp.open = async (target, flags = "r", ...rest) => {
  const file = path.resolve(String(target));
  const bits = typeof flags === "string" ? FLAGS[flags] : flags;
  if (bits === undefined) return refuse(`open(…, "${flags}")`, file, () => open(target, flags, ...rest));
  const creates = (bits & constants.O_CREAT) !== 0 && !existsSync(file);
  const handle = await operation("open", creates ? "create" : "read", file, {
    run: () => open(target, flags, ...rest),
    facts: { creates },
    outcome: (opened) => ({ size: fstatSync(opened.fd).size }),
  });
  watchHandle(handle, file, (bits & (constants.O_WRONLY | constants.O_RDWR)) !== 0);
  return handle;
};

const READS = ["read", "stat"];

function watchHandle(handle, file, writable) {
  const { write, sync, close } = handle;
  handle.write = (bytes, offset = 0, length = bytes.byteLength - offset, position = null) => {
    const part = (taken) => write.call(handle, bytes, offset, taken, position);
    return operation("write", "write", file, { run: () => part(length), part, bytes: length });
  };
  handle.writev = (chunks) => handle.write(Buffer.concat(chunks));
  for (const name of ["sync", "datasync"]) {
    handle[name] = () => {
      const { size } = fstatSync(handle.fd);
      return operation(name, "sync", file, { run: () => sync.call(handle), outcome: () => ({ size }) });
    };
  }
  for (const name of READS) {
    const read = handle[name];
    handle[name] = (...args) => operation(name, "read", file, { run: () => read.apply(handle, args) });
  }
  handle.close = () => {
    const run = () => close.call(handle);
    // One that only read has nothing to lose. A close that fails has closed all the same.
    return writable ? operation("close", "change", file, { run, whenFailed: run }) : run();
  };
  for (const name of ["writeFile", "appendFile", "truncate", "chmod", "createWriteStream"]) {
    const original = handle[name];
    handle[name] = (...args) => refuse(name, file, () => original.apply(handle, args));
  }
}

fsp.mkdir = (folder, ...rest) =>
  operation("mkdir", "create", path.resolve(folder), { run: () => mkdir(folder, ...rest) });

fsp.link = (from, to) =>
  operation("link", "create", path.resolve(to), {
    run: () => link(from, to),
    facts: { from: path.resolve(from) },
  });

fsp.rename = (from, to) => {
  const run = () => {
    note({ number: count, kept: keep(path.resolve(to)).kept });
    return rename(from, to);
  };
  return operation("rename", "change", path.resolve(to), { run, facts: { from: path.resolve(from) } });
};

fsp.unlink = (target) => {
  const file = path.resolve(target);
  const run = async () => {
    const { kept, frees } = keep(file);
    note({ number: count, kept });
    await unlink(target);
    if (room !== null) room += frees;
  };
  return operation("unlink", "change", file, { run });
};

for (const [name, kind] of [
  ["chmod", "change"],
  ["stat", "read"],
  ["lstat", "read"],
  ["readFile", "read"],
  ["readdir", "read"],
  ["access", "read"],
]) {
  const original = fsp[name];
  fsp[name] = (target, ...rest) => {
    const run = () => original(target, ...rest);
    return typeof target === "string" ? operation(name, kind, path.resolve(target), { run }) : run();
  };
}

/** What changes the disk behind the numbers' back would never be crashed at: better to fail at once. */
function refuse(name, file, run) {
  if (!isWatched(file)) return run();
  note({ unwatched: name, file });
  throw new Error(`${name} is not watched: teach test/crash/preload.cjs`);
}

const CHANGES = ["writeFile", "appendFile", "rm", "rmdir", "copyFile", "cp", "truncate", "symlink", "utimes"];
const WATCHED_AS_PROMISES = ["mkdir", "link", "rename", "unlink", "chmod"];
for (const [target, names] of [
  [fsp, CHANGES],
  [fs, [...CHANGES, ...WATCHED_AS_PROMISES, "createWriteStream"]],
  [fs, [...CHANGES, ...WATCHED_AS_PROMISES].map((name) => `${name}Sync`)],
]) {
  for (const name of names) {
    const original = target[name];
    target[name] = (...args) => {
      const run = () => original(...args);
      return typeof args[0] === "string" ? refuse(name, path.resolve(args[0]), run) : run();
    };
  }
}
