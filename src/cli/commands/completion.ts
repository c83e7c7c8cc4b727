import type { Command } from "commander";
import { EXTENSIONS } from "../../client/batch-json.ts";
import { UsageError } from "../../lib/error-types.ts";
import bash from "../completion/imggen.bash?raw";
import fish from "../completion/imggen.fish?raw";
import powershell from "../completion/imggen.ps1?raw";
import zsh from "../completion/imggen.zsh?raw";
import { SHELLS } from "../help/value-types.ts";
import { type Answer, COMPLETE_COMMAND, type RunWith } from "../session/command.ts";
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

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = { bash, zsh, fish, powershell };

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("<shell>", SHELLS.join(", "))
    .addHelpText("after", EXAMPLES)
    .action(runWith(runCompletion));
}

async function runCompletion(session: Session, name: string): Promise<Answer> {
  const shell = SHELLS.find((each) => each === name.toLowerCase());
  if (shell === undefined) {
    const hint = `Shells: ${SHELLS.join(", ")}`;
    throw new UsageError(`There is no completion script for ${JSON.stringify(name)}.`, { hint });
  }
  const extensions = EXTENSIONS.join("|");
  const script = SCRIPTS[shell].replace("{ask}", COMPLETE_COMMAND).replace("{manifests}", extensions);
  const show = () => session.console.result(script.trimEnd().split("\n"));
  return { json: { ok: true, shell, script }, show };
}
