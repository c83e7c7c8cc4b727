import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import { identityOf, type ProcessIdentity, signalGroup, systemProcesses } from "../../lib/processes.ts";

/** Names a command's process, in its working folder. */
const FILE = ".process";

/** Notes the process of a command, so that it can be found where this process is killed and it runs on. */
export function noteProcess(folder: string, pid: number): void {
  const identity = identityOf(pid);
  if (identity !== null) writeFileSync(path.join(folder, FILE), JSON.stringify(identity), { mode: 0o600 });
}

/** Kills a command that a killed process has left behind, and what it has started: nobody waits for its image. */
export function endLeftProcess(folder: string): void {
  const left = noted(path.join(folder, FILE));
  if (left !== null && systemProcesses().isAlive(left)) signalGroup(left.pid, "SIGKILL");
}

function noted(file: string): ProcessIdentity | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return null;
  }
  const { pid, host, started, boot, pidNamespace } = fieldsOf(jsonOrNull(text));
  if (typeof pid !== "number" || typeof host !== "string" || typeof started !== "string") return null;
  if (typeof boot !== "string" || pid <= 1) return null;
  return { pid, host, started, boot, ...(typeof pidNamespace === "string" && { pidNamespace }) };
}
