// Asks `npm audit` for known vulnerabilities of the packages that the bundle holds, as the bill of materials names them:
// `node .ci/audit.js [sbom.cdx.json]`. Exit status 0: none known; 1: some; 2: could not ask, which says nothing.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const [sbom = "dist/sbom.cdx.json"] = process.argv.slice(2);
const bundled = JSON.parse(readFileSync(sbom, "utf8")).components.map(({ group, name, version }) => ({
  name: group === undefined ? name : `${group}/${name}`,
  version,
}));

const folder = mkdtempSync(path.join(tmpdir(), "imggen-audit-"));
try {
  process.exitCode = tell(audit());
} finally {
  rmSync(folder, { recursive: true });
}

/** What npm says of a package that depends on what is bundled, and on nothing else. */
function audit() {
  const dependencies = Object.fromEntries(bundled.map(({ name, version }) => [name, version]));
  const manifest = { name: "bundle", version: "0.0.0", dependencies };
  const packages = Object.fromEntries(
    bundled.map(({ name, version }) => [`node_modules/${name}`, { version }]),
  );
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages: { "": manifest, ...packages } };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(path.join(folder, "package-lock.json"), JSON.stringify(lock));
  const shell = process.platform === "win32";
  const args = ["audit", "--package-lock-only", "--json"];
  return spawnSync("npm", args, { cwd: folder, encoding: "utf8", shell });
}

/** Prints the result. Returns the exit status. */
function tell({ stdout, stderr }) {
  const report = parsed(stdout);
  if (report?.vulnerabilities === undefined) {
    console.error(`Could not ask about ${bundled.length} packages: ${report?.message ?? stderr}`);
    return 2;
  }
  const found = Object.values(report.vulnerabilities);
  for (const { name, severity, via } of found)
    for (const { title = "", url = "" } of via) console.log(`${name}: ${severity}: ${title} ${url}`);
  console.log(`${bundled.length} packages, ${found.length} with a known vulnerability.`);
  return found.length === 0 ? 0 : 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
