import { spawnSync } from "node:child_process";
import { hasTool } from "./tools.ts";

/** Serves JSON on ports of this machine, then becomes the command that follows: its exit code is that one's. */
const SERVE = `
const [answers, command, ...args] = process.argv.slice(1);
const { createServer } = require("node:http");
const servers = Object.entries(JSON.parse(answers)).map(([port, replies]) => new Promise((listens) => {
  createServer(({ url }, response) => {
    const reply = replies[url.split("?")[0]];
    response.writeHead(reply === undefined ? 404 : 200).end(JSON.stringify(reply ?? null));
  }).listen(Number(port), "127.0.0.1", listens);
}));
process.on("SIGINT", () => {});
Promise.all(servers).then(() => {
  const child = require("node:child_process").spawn(command, args, { stdio: "inherit" });
  child.on("exit", (code) => process.exit(code));
})`;

const ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"];

/** Whether a process can have all ports of loopback for itself here. */
export const hasOwnPorts =
  hasTool("ip") && spawnSync(ALONE[0] ?? "", [...ALONE.slice(1), "true"]).status === 0;

/** Replies by path. */
type Replies = Record<string, unknown>;

/** A command before which the program runs on a loopback of its own, with these servers alone on it, by their ports. */
export function withServers(servers: Record<number, Replies>): string[] {
  return [...ALONE, process.execPath, "-e", SERVE, JSON.stringify(servers)];
}

/** As AUTOMATIC1111 answers, with one of two models loaded. */
export const AUTOMATIC1111: Replies = {
  "/sdapi/v1/sd-models": [{ model_name: "dream" }, { model_name: "paint" }],
  "/sdapi/v1/options": { sd_model_checkpoint: "paint.safetensors [0123abcd]" },
};

/** As ComfyUI answers. */
export const COMFYUI: Replies = {
  "/system_stats": { system: { comfyui_version: "0.3.64" }, devices: [] },
  "/models/checkpoints": ["dream.safetensors"],
};
