// Loaded into the built program with --require: numbers its file operations below the folders of a run, writes
// each into a log, and stops the program at the one it was told to. IMGGEN_CRASH holds JSON: `folders` (what
// counts), `log` (a file), `limbo` (a folder for what the program removes, so that a power cut can bring it
// back), `killAfter` (pattern of the name of an operation after which it is killed), and where something is to happen
// `at` (the operation's number) and `mode`:
//   kill-before, kill-after   SIGKILL, before the operation or after it succeeded
//   half-written              half of a write's bytes reach the disk, then SIGKILL
//   short                     a write takes half of its bytes and says so, which it legally may
//   EIO                       this operation fails
//   ENOSPC                    the disk is full from here on: a write takes half of its bytes, and what comes
//                             after finds only the room that the program makes by removing files
const fs = require("node:fs");
const fsp = require("node:fs/promises");
const path = require("node:path");

const { folders, log, limbo, killAfter, at, mode } = JSON.parse(process.env.IMGGEN_CRASH);
const lastOperation = killAfter && new RegExp(killAfter);
/** A folder whose file system has no hard links. */
const withoutLinks = process.env.IMGGEN_CRASH_NO_LINKS;
const { constants, existsSync, fstatSync, linkSync, lstatSync, openSync, writeSync } = fs;

// Waits between tries are drawn from nothing up to a limit; here the draw is always nothing.
Math.random = () => 0;

const logFile = openSync(log, "a", 0o600);
let count = 0;
/** Bytes that are free on the disk once it is full; null before that. */
let room = null;

const note = (entry) => writeSync(logFile, `${JSON.stringify({ pid: process.pid, ...entry })}\n`);
const isWatched = (file) =>
  folders.some((folder) => file === folder || file.startsWith(`${folder}${path.sep}`));
/** Whether a timer takes this look, the more often the slower the machine is: numbers would differ from run to run. */
const isByTimer = (name, file) => name === "readdir" && path.basename(file) === "cancelled";
const die = () => process.kill(process.pid, "SIGKILL");

function fail(code, name, file) {
  const message = `${code}: made to fail, ${name} '${file}'`;
  throw Object.assign(new Error(message), { code, syscall: name, path: file });
}

/**
 * Does one operation, or what the mode makes of it. `action.run` does it whole, at once or as a promise; `part`
 * writes that many bytes, at once; `facts` and `outcome` are for the log; `whenFailed` is done even by one that fails.
 */
function operation(name, kind, file, action) {
  if (!isWatched(file) || isByTimer(name, file)) return action.run();
  count += 1;
  const number = count;
  const isLast = lastOperation?.test(`${name} ${path.basename(file)}`);
  const struck = isLast ? "kill-after" : number === at ? mode : null;
  note({ number, name, kind, file, ...action.facts });
  if (struck === "kill-before") die();
  if (struck === "half-written") action.part?.(action.bytes >> 1);
  if (struck === "half-written") die();
  if (struck === "short" && action.part) return action.part(Math.max(1, action.bytes >> 1));
  if (struck === "EIO") {
    action.whenFailed?.();
    fail("EIO", name, file);
  }
  if (struck === "ENOSPC") {
    room = (action.bytes ?? 0) >> 1;
    if (kind === "sync") fail("ENOSPC", name, file);
  }
  const done = (result) => {
    note({ number, done: true, ...action.outcome?.(result) });
    if (struck === "kill-after") die();
    return result;
  };
  const result = withinRoom(name, kind, file, action);
  return result instanceof Promise ? result.then(done) : done(result);
}

function withinRoom(name, kind, file, action) {
  if (room === null) return action.run();
  if (room === 0 && (kind === "create" || (kind === "write" && action.bytes > 0))) fail("ENOSPC", name, file);
  if (kind !== "write") return action.run();
  const written = action.part(Math.min(room, action.bytes));
  room -= written;
  return written;
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

/** The watched files that are open, by their descriptors. */
const opened = new Map();
const fileOf = (fd) => opened.get(fd)?.file ?? "";

/** Numbers what opens a file; `run` gives its descriptor. */
function opening(target, flags, run) {
  const file = path.resolve(String(target));
  if (typeof flags === "string") return flags === "r" ? run() : refuse(`open(…, "${flags}")`, file, run);
  const creates = (flags & constants.O_CREAT) !== 0 && !existsSync(file);
  const writable = (flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
  return operation("open", creates ? "create" : "read", file, {
    run,
    facts: { creates },
    outcome: (fd) => {
      opened.set(fd, { file, writable });
      return { size: fstatSync(fd).size };
    },
  });
}

fs.openSync = (target, flags = constants.O_RDONLY, ...rest) =>
  opening(target, flags, () => openSync(target, flags, ...rest));

const { open } = fs;
fs.open = (target, flags, mode, callback) => {
  if (callback === undefined) return open(target, flags, mode);
  later(callback, async () => opening(target, flags, () => promised(open, target, flags, mode)));
};

const { writeSync: writeNow } = fs;
fs.writeSync = (fd, bytes, ...rest) => {
  if (!opened.has(fd)) return writeNow(fd, bytes, ...rest);
  const [offset = 0, length = bytes.byteLength - offset] = rest;
  const part = (taken) => writeNow(fd, bytes, offset, taken);
  return operation("write", "write", fileOf(fd), { run: () => part(length), part, bytes: length });
};

const { writev } = fs;
fs.writev = (fd, chunks, callback) => {
  if (!opened.has(fd)) return writev(fd, chunks, callback);
  const bytes = Buffer.concat(chunks);
  const part = (taken) => writeNow(fd, bytes, 0, taken);
  const action = { run: () => part(bytes.length), part, bytes: bytes.length };
  later(callback, async () => operation("write", "write", fileOf(fd), action));
};

for (const [name, shown] of [
  ["fsync", "sync"],
  ["fdatasync", "datasync"],
]) {
  const original = fs[name];
  fs[name] = (fd, callback) => {
    if (!opened.has(fd)) return original(fd, callback);
    const { size } = fstatSync(fd);
    const action = { run: () => promised(original, fd), outcome: () => ({ size }) };
    // It takes its time, in which whatever does not wait for it goes on.
    later(callback, () => turn().then(() => operation(shown, "sync", fileOf(fd), action)));
  };
}

const { fchmod } = fs;
fs.fchmod = (fd, mode, callback) =>
  later(callback, async () =>
    operation("chmod", "change", fileOf(fd), { run: () => promised(fchmod, fd, mode) }),
  );

const turn = () => new Promise((resolve) => setImmediate(resolve));

function promised(call, ...args) {
  return new Promise((resolve, reject) => {
    call(...args, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

function later(callback, action) {
  action().then(
    (result) => callback(null, result),
    (error) => callback(error),
  );
}

const { closeSync } = fs;
fs.closeSync = (fd) => {
  const entry = opened.get(fd);
  const run = () => {
    opened.delete(fd);
    closeSync(fd);
  };
  // One that only read has nothing to lose. A close that fails has closed the file nevertheless.
  return entry?.writable ? operation("close", "change", entry.file, { run, whenFailed: run }) : run();
};

for (const name of ["readSync", "fstatSync"]) {
  const original = fs[name];
  fs[name] = (fd, ...rest) => {
    const run = () => original(fd, ...rest);
    return opened.has(fd) ? operation(name.replace("Sync", ""), "read", fileOf(fd), { run }) : run();
  };
}

/** Changes of names and times: how each is done, by the calls that do it at once and by those that give a promise. */
const NAMING = {
  mkdir: (call, folder, ...rest) =>
    operation("mkdir", "create", path.resolve(folder), { run: () => call(folder, ...rest) }),
  link: (call, from, to) => {
    if (path.resolve(to).startsWith(`${withoutLinks}${path.sep}`)) fail("EPERM", "link", to);
    return operation("link", "create", path.resolve(to), {
      run: () => call(from, to),
      facts: { from: path.resolve(from) },
    });
  },
  rename: (call, from, to) =>
    operation("rename", "change", path.resolve(to), {
      run: () => {
        note({ number: count, kept: keep(path.resolve(to)).kept });
        return call(from, to);
      },
      facts: { from: path.resolve(from) },
    }),
  unlink: (call, target) => {
    // Within a recursive removal, Node names files by their bytes.
    const file = path.resolve(String(target));
    let frees = 0;
    const run = () => {
      const found = keep(file);
      frees = found.frees;
      note({ number: count, kept: found.kept });
      return call(target);
    };
    const outcome = () => {
      if (room !== null) room += frees;
    };
    return operation("unlink", "change", file, { run, outcome });
  },
  rmdir: (call, folder, ...rest) =>
    operation("rmdir", "change", path.resolve(String(folder)), { run: () => call(folder, ...rest) }),
  utimes: (call, file, ...times) =>
    operation("utimes", "change", path.resolve(file), { run: () => call(file, ...times) }),
};
const { writeFile } = fsp;
fsp.writeFile = (target, ...rest) =>
  typeof target === "string"
    ? operation("writeFile", "create", path.resolve(target), { run: () => writeFile(target, ...rest) })
    : writeFile(target, ...rest);

const { rmSync } = fs;
fs.rmSync = (target, ...rest) =>
  operation("rm", "change", path.resolve(target), { run: () => rmSync(target, ...rest) });

for (const [name, watch] of Object.entries(NAMING)) {
  const [now, promise] = [fs[`${name}Sync`], fsp[name]];
  fs[`${name}Sync`] = (...args) => watch(now, ...args);
  fsp[name] = async (...args) => watch(promise, ...args);
}

for (const name of ["stat", "lstat", "readFile", "readdir", "access"]) {
  const original = fsp[name];
  fsp[name] = async (file, ...rest) => {
    const run = () => original(file, ...rest);
    return typeof file === "string" ? operation(name, "read", path.resolve(file), { run }) : run();
  };
}

for (const name of ["stat", "readdir"]) {
  const original = fs[`${name}Sync`];
  fs[`${name}Sync`] = (file, ...rest) =>
    operation(name, "read", path.resolve(String(file)), { run: () => original(file, ...rest) });
}

/** What changes the disk behind the numbers' back would never be crashed at: better to fail at once. */
function refuse(name, file, run) {
  if (!isWatched(file)) return run();
  note({ unwatched: name, file });
  throw new Error(`${name} is not watched: teach test/crash/preload.cjs`);
}

const CHANGES = ["writeFile", "appendFile", "rm", "copyFile", "cp", "truncate", "symlink"];
const OTHERS = [...CHANGES, "chmod"];
for (const [target, names] of [
  [fsp, OTHERS.filter((name) => name !== "writeFile")],
  [fs, [...OTHERS, ...Object.keys(NAMING), "createWriteStream"]],
  [fs, OTHERS.filter((name) => name !== "rm").map((name) => `${name}Sync`)],
]) {
  for (const name of names) {
    const original = target[name];
    target[name] = (...args) => {
      const run = () => original(...args);
      return typeof args[0] === "string" ? refuse(name, path.resolve(args[0]), run) : run();
    };
  }
}

// An open file of fs/promises is not numbered: what writes must use the calls above.
const { open: openAsHandle } = fsp;
fsp.open = (target, flags = "r", ...rest) => {
  const run = () => openAsHandle(target, flags, ...rest);
  return flags === "r" ? run() : refuse(`open(…, "${flags}")`, path.resolve(String(target)), run);
};
