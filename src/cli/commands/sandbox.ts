import type { Command } from "commander";
import { SANDBOX } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { startService } from "../../client/targets/sandbox-target.ts";
import { targetInEffect } from "../../client/targets/target-in-effect.ts";
import { sandboxFolder } from "../../client/user-folders.ts";
import { SANDBOX_KEY, startSandbox } from "../../sandbox/server.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { log, requestLine, serveUntilSignal, startOnPort } from "./serving.ts";

const EXAMPLES = `
Keys:
  sk-sandbox has a subscription and is the key of --sandbox. sk-sandbox-basic has no subscription.
  Any other sk-… key is a new account with a subscription.
  To reset all accounts, delete the folder sandbox in the state folder.

Fault injection:
  To test a script, put one of these directives into a prompt.
  [sandbox:fail]        [sandbox:slow=30s]
  [sandbox:no-credits]  [sandbox:subscription]
  [sandbox:429]         [sandbox:500]
  [sandbox:drop]        [sandbox:truncate]
  [sandbox:html]        [sandbox:expired]

Examples:
  $ imggen sandbox
  $ imggen sandbox --port 8787 --latency 5s --credits 20`;

export function register(command: Command, runWith: RunWith): void {
  addOptions(command, SANDBOX).addHelpText("after", EXAMPLES).action(runWith(runSandbox));
}

async function runSandbox(session: Session, flags: FlagsOf<typeof SANDBOX>): Promise<number> {
  const { port: flag, latencyMs, credits } = flags;
  const matrix = await (await targetInEffect(session)).matrix();
  const folder = sandboxFolder(session.folders);
  const sandbox = await startOnPort(flag, (port) =>
    startService(folder, () =>
      startSandbox({
        folder,
        port,
        matrix,
        ...(latencyMs !== undefined && { latencyMs }),
        ...(credits !== undefined && { credits }),
        // The request log contains all notices except notices of a reset.
        onNotice: (notice) => notice.kind === "reset" && session.onSandboxNotice(notice),
        onRequest: (request) => log(requestLine(request), session),
      }),
    ),
  );
  try {
    return await serveUntilSignal(session, { ...sandbox, apiKey: SANDBOX_KEY }, "Serving");
  } finally {
    await sandbox.close();
  }
}
