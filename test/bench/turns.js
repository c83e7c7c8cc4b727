// How soon the next request to a generator begins after the last one's end, at one request at a time.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { storedPng } from "./image.js";
import { fact, goal, measureImggen, median, printTable, temporaryFolder } from "./measure.js";

const TASKS = 60;
const TASK_MS = 250;
const SERVER = fileURLToPath(import.meta.url);

// In a process of its own, this file is the generator: it notes when each request begins and ends.
if (process.argv[2] === "generator") serve();
else await bench();

function serve() {
  const body = JSON.stringify({ data: [{ b64_json: storedPng(2048).toString("base64") }] });
  const times = [];
  const server = createServer((request, response) => {
    if (request.url === "/times") return void response.end(JSON.stringify(times));
    if (request.method === "GET") return void response.writeHead(404).end();
    const time = { begin: performance.now(), end: 0 };
    times.push(time);
    request.resume().on("end", () =>
      setTimeout(() => {
        response.writeHead(200, { "content-type": "application/json" });
        time.end = performance.now();
        response.end(body);
      }, TASK_MS),
    );
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

async function bench() {
  const folder = temporaryFolder();
  const child = spawn(process.execPath, [SERVER, "generator"], { stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => child.kill());
  const port = Number(await new Promise((resolve) => child.stdout.once("data", resolve)));
  const manifest = path.join(folder, "rows.txt");
  writeFileSync(manifest, Array.from({ length: TASKS }, (_, row) => `a fox, number ${row + 1}\n`).join(""));
  const url = `http://127.0.0.1:${port}`;
  const output = path.join(folder, "images");
  measureImggen(["batch", manifest, "--generator", url, "--output", output, "--json"], {
    env: { IMGGEN_HOME: path.join(folder, "home") },
  });
  const times = await (await fetch(`${url}/times`)).json();
  const gaps = times.slice(1).map(({ begin }, at) => begin - times[at].end);
  const ratio = (times.at(-1).end - times[0].begin) / (TASKS * TASK_MS);
  printTable(`${TASKS} requests of ${TASK_MS} ms to a generator, one at a time`, [
    goal("their time, beside that of the requests alone", ratio, { most: 1.08 }),
    goal("between two requests, median", median(gaps), { most: 10, unit: "ms" }),
    fact("between two requests, longest", Math.max(...gaps), "ms"),
  ]);
  child.kill();
}
