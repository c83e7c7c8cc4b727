// Makes the single executable of what is built, dist/release/imggen, and its archive: `node .build/binary.js`. It is Node.js
// itself with the program among its assets, for this machine's platform. Never strip it: what is stripped crashes.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { nodePackage } from "./node-package.js";

/** The first major of Node.js with `--build-sea` that is a release for years. */
const MAJOR = 26;

const root = path.resolve(import.meta.dirname, "..");
const dist = path.join(root, "dist");
const release = path.join(dist, "release");
const isWindows = process.platform === "win32";
const program = path.join(release, isWindows ? "imggen.exe" : "imggen");
const temporary = mkdtempSync(path.join(tmpdir(), "imggen-binary-"));
try {
  mkdirSync(release, { recursive: true });
  const node = nodeExecutable();
  const files = ["main.cjs", ...readdirSync(path.join(dist, "chunks")).map((name) => `chunks/${name}`)];
  for (const file of files) wrap(file);
  execFileSync(node, [path.join(import.meta.dirname, "code-cache.cjs"), temporary, ...files], {
    stdio: "inherit",
  });
  const code = files
    .flatMap((file) => [file, `${file}.cache`])
    .map((name) => [name, path.join(temporary, name)]);
  const config = {
    main: path.join(import.meta.dirname, "executable.cjs"),
    executable: node,
    output: program,
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries([...code, ["commands.json", path.join(dist, "commands.json")]]),
  };
  writeFileSync(path.join(temporary, "sea.json"), JSON.stringify(config));
  rmSync(program, { force: true });
  execFileSync(node, ["--build-sea", path.join(temporary, "sea.json")], { stdio: "inherit" });
  // macOS runs nothing that changed after it was signed.
  if (process.platform === "darwin")
    execFileSync("codesign", ["--sign", "-", "--force", program], { stdio: "inherit" });
  archive();
} finally {
  rmSync(temporary, { recursive: true });
}

/** This Node.js if it is of that major, else the one in npm's package. */
function nodeExecutable() {
  if (process.versions.node.startsWith(`${MAJOR}.`)) return process.execPath;
  const print = ["exec", "--yes", `--package=${nodePackage(MAJOR)}`, "--", "node", "-p", "process.execPath"];
  return execFileSync("npm", print, { encoding: "utf8", shell: isWindows }).trim();
}

/** As Node's own loader does, so that each file has its own names. */
function wrap(file) {
  const code = readFileSync(path.join(dist, file), "utf8");
  const target = path.join(temporary, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, `(function (exports, require, module, __filename, __dirname) { ${code}\n})`);
}

/** The executable with what goes with every copy of it, under a folder of its name. */
function archive() {
  const name = `imggen-${isWindows ? "windows" : process.platform}-${process.arch}`;
  const folder = path.join(temporary, name);
  mkdirSync(folder);
  const papers = [
    "dist/THIRD-PARTY-LICENSES.txt",
    "dist/completions",
    "dist/imggen.1",
    "LICENSE",
    "README.md",
  ];
  for (const file of [path.relative(root, program), ...papers])
    cpSync(path.join(root, file), path.join(folder, path.basename(file)), { recursive: true });
  const target = path.join(release, `${name}.tar.xz`);
  execFileSync("tar", ["-cJf", target, name], { cwd: temporary, env: { ...process.env, XZ_OPT: "-T0" } });
  for (const file of [program, target]) console.log(`${file} ${(statSync(file).size / 1e6).toFixed(1)} MB`);
}
