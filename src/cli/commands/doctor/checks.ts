import type { Check } from "./check.ts";
import { checkCache, checkFolder, checkState } from "./folders.ts";
import { checkImggen, checkLibraries, checkNode } from "./installation.ts";
import { checkProxy, checkTls } from "./network.ts";
import { checkClock, checkKey, checkService } from "./service.ts";
import { checkConfig, checkModels, checkProfile } from "./settings.ts";
import { checkTasks } from "./tasks.ts";
import { checkTerminal } from "./terminal.ts";

/** Everything that is checked, in the order of the output: what waits for the network comes last. */
export const CHECKS: readonly Check[] = [
  { name: "imggen", run: checkImggen },
  { name: "node", run: checkNode },
  { name: "libraries", run: checkLibraries },
  { name: "profile", run: checkProfile },
  { name: "config", run: checkConfig, next: "Fix its permissions or move it away, then try again." },
  { name: "models", run: checkModels },
  { name: "state", run: checkState },
  { name: "cache", run: checkCache },
  { name: "folder", run: checkFolder },
  { name: "tasks", run: checkTasks },
  { name: "terminal", run: checkTerminal },
  { name: "proxy", run: checkProxy },
  { name: "tls", run: checkTls },
  { name: "service", run: checkService, next: "Set it to the service's address, its /api included." },
  { name: "key", run: checkKey, next: "Use one from the service's API key page. imggen login stores it." },
  { name: "clock", run: checkClock },
];
