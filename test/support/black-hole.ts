import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { pause } from "./wait.ts";

/** Listens and never accepts a connection. */
const SLEEPER = `
const server = require("node:net").createServer().listen(0, "127.0.0.1", 1, () => {
  require("node:fs").writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/** A local port that answers no attempt to connect because its queue is full. null if none could be made. */
export async function blackHole(): Promise<number | null> {
  const sleeper = spawn(process.execPath, ["-e", SLEEPER], { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void sleeper.kill("SIGKILL"));
  const [text] = await once(sleeper.stdout, "data");
  const port = Number(text);
  for (let filled = 0; filled < 16; filled++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    const connected = await Promise.race([once(socket, "connect").then(() => true), pause(300)]);
    if (!connected) return port;
  }
  return null;
}
