// How soon the learned schedule sees a completion, and with how many polls: bundles the table that says so, and runs it.
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const input = fileURLToPath(new URL("polling-table.ts", import.meta.url));
const { output } = await build({ input, platform: "node", write: false });
await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
