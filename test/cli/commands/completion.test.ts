import { expect, it } from "vitest";
import { SHELLS } from "../../../src/cli/help/value-types.ts";
import { COMPLETE_COMMAND } from "../../../src/cli/session/command.ts";
import { runCommand } from "../../support/in-process.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const run = async (...args: string[]) => runCommand(args, { home: await temporaryFolder() });

it.each(SHELLS)("prints a script for %s that asks imggen at each TAB", async (shell) => {
  const { code, stdout, stderr } = await run("completion", shell);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(new RegExp(`imggen ${COMPLETE_COMMAND} "=`));
  const { stdout: json } = await run("completion", shell, "--json");
  expect(JSON.parse(json)).toEqual({ ok: true, shell, script: stdout });
});

it("gives PowerShell what it completes native commands with", async () => {
  const { stdout } = await run("completion", "PowerShell");
  expect(stdout).toContain("Register-ArgumentCompleter -Native -CommandName imggen -ScriptBlock {");
  expect(stdout).toContain("param($wordToComplete, $commandAst, $cursorPosition)");
  // Its oldest version drops an empty argument, so the word at the cursor is never one.
  expect(stdout).toContain(`& imggen ${COMPLETE_COMMAND} "=$wordToComplete" @words 2>$null`);
  expect(stdout).toContain(
    "[System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)",
  );
  const count = (bracket: string) => stdout.split(bracket).length;
  for (const [open = "", close = ""] of ["{}", "()", "[]"]) expect(count(open), open).toBe(count(close));
});

it("refuses a shell that there is no script for, and names those that there are", async () => {
  expect(await run("completion", "tcsh")).toEqual({
    code: 2,
    stdout: "",
    stderr: 'error: There is no completion script for "tcsh".\n  Shells: bash, zsh, fish, powershell.\n',
  });
  expect((await run("completion")).stderr).toContain("Missing required argument 'shell'");
});

it("offers nothing, and says nothing, where the command line cannot be completed", async () => {
  for (const words of [[], ["="], ["", ""]])
    expect(await run(COMPLETE_COMMAND, ...words)).toMatchObject({ code: 0, stderr: "" });
});
