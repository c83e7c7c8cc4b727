import type { Command } from "commander";
import { UsageError } from "../../lib/error-types.ts";
import { SCRIPTS } from "../completion/scripts.ts";
import { SHELLS } from "../help/value-types.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const EXAMPLES = `
To load it in every new shell:
  bash, in ~/.bashrc:
    source <(imggen completion bash)
  zsh, in ~/.zshrc, below compinit:
    source <(imggen completion zsh)
  fish, in ~/.config/fish/config.fish:
    imggen completion fish | source
  powershell, in $PROFILE:
    imggen completion powershell | Out-String | Invoke-Expression

Examples:
  $ imggen completion bash
  $ imggen completion zsh > _imggen`;

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("<shell>", SHELLS.join(", "))
    .addHelpText("after", EXAMPLES)
    .action(runWith(runCompletion));
}

async function runCompletion(session: Session, name: string): Promise<number> {
  const shell = SHELLS.find((known) => known === name.toLowerCase());
  if (shell === undefined) {
    const hint = `Shells: ${SHELLS.join(", ")}`;
    throw new UsageError(`There is no completion for ${JSON.stringify(name)}.`, { hint });
  }
  const script = SCRIPTS[shell];
  if (session.options.json) await session.console.json({ ok: true, shell, script });
  else await session.console.result(script.trimEnd().split("\n"));
  return 0;
}
