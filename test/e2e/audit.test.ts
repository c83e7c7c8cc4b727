import { type ExecFileException, execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { json } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { expect, it } from "vitest";
import { deadPort, listenForTest } from "../support/live-server.ts";
import { ROOT } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs the audit against a registry on this port. */
async function auditAt(port: number) {
  const folder = await temporaryFolder();
  const npm = { npm_config_registry: `http://127.0.0.1:${port}`, npm_config_fetch_retries: "0" };
  const env = { PATH: process.env.PATH, HOME: folder, ...npm };
  return new Promise<{ code: ExecFileException["code"]; stdout: string; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      [path.join(ROOT, ".ci/audit.js")],
      { cwd: ROOT, env },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

/** A registry that knows these advisories, and what it was asked about. */
async function registry(advisories: object) {
  const asked: Record<string, string[]> = {};
  const server = createServer(async (request, response) => {
    if (!request.url?.endsWith("/advisories/bulk")) return void response.writeHead(404).end("{}");
    Object.assign(asked, await json(request.pipe(createGunzip())));
    response.end(JSON.stringify(advisories));
  });
  return { port: await listenForTest(server), asked };
}

it("asks about exactly the packages of the bill of materials, and ends well if none is known to be vulnerable", async () => {
  const { port, asked } = await registry({});
  const { code, stdout } = await auditAt(port);
  const { components } = JSON.parse(await readFile(path.join(ROOT, "dist/sbom.cdx.json"), "utf8"));
  expect(asked.undici).toHaveLength(1);
  expect(Object.keys(asked)).toHaveLength(components.length);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `${components.length} packages, 0 with a known vulnerability.\n`,
  });
});

it("names a package with a known vulnerability, and fails", async () => {
  const advisory = {
    id: 1,
    url: "https://example.com/1",
    title: "A hole",
    severity: "high",
    vulnerable_versions: "*",
  };
  const { port } = await registry({ undici: [advisory] });
  const { code, stdout } = await auditAt(port);
  expect(stdout).toContain("undici: high: A hole https://example.com/1\n");
  expect(code).toBe(1);
});

it("says that it could not ask, which is neither", async () => {
  const { code, stderr } = await auditAt(await deadPort());
  expect(stderr).toMatch(/^Could not ask about \d+ packages: .*ECONNREFUSED/);
  expect(code).toBe(2);
});
