// A service for the benchmarks, in a process of its own so that its work is not counted as the program's.
// Every task completes a fixed time after its submit, and every image is the same file, sent from memory.
// Usage: node service.js <task milliseconds> <image file>; prints its port.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [taskMs, imageFile] = process.argv.slice(2);
const image = readFileSync(imageFile);
const begun = new Map();

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, `http://${request.headers.host}`);
  if (pathname === "/image.png") {
    response.writeHead(200, { "content-type": "image/png", "content-length": image.length });
    response.end(image);
    return;
  }
  // The whole request is read before its answer, so that the connection can be used again.
  request.resume().on("end", () => {
    const data =
      request.method === "POST" ? submit() : poll(searchParams.get("taskId"), request.headers.host);
    const body = JSON.stringify({ code: 0, message: "ok", data });
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});

function submit() {
  const taskId = `task-${begun.size + 1}`;
  begun.set(taskId, performance.now());
  return { taskId };
}

function poll(taskId, host) {
  const done = performance.now() - (begun.get(taskId) ?? 0) >= Number(taskMs);
  return done
    ? { taskId, status: "completed", resultUrl: [`http://${host}/image.png`] }
    : { taskId, status: "processing" };
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
