import { expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/app/commands.ts";
import { adviceForAgents } from "../../src/mcp/agent-advice.ts";

it.each([
  [
    "It is not lost. Resume with: imggen resume task_3f9c",
    'It is not lost. Resume with: call get_task with taskId "task_3f9c"',
  ],
  [
    "Nothing was charged. Store a key that works: imggen login",
    "Nothing was charged. Ask the user to run imggen login.",
  ],
  ["To see what each model takes: imggen models", "To see what each model takes: call list_models"],
  ["Resume later: imggen resume", "Resume later: call resume_tasks"],
  [
    "To submit it again, at a new charge: imggen rerun 0f3a-1",
    "To submit it again, at a new charge: call generate_image with the same arguments and reuse: false",
  ],
  [
    "To submit it again: imggen rerun 0f3a-1 --sandbox",
    "To submit it again: call generate_image with the same arguments and reuse: false",
  ],
  ["To dismiss it: imggen resume 0f3a-1 --dismiss", "To dismiss it: ask the user"],
  ["Nothing was sent. Add --generator <spec>. More: imggen help generators", "Nothing was sent."],
  [
    "Nothing was charged. imggen does not retry it by itself.",
    "Nothing was charged. imggen does not retry it by itself.",
  ],
  ["a prompt of mine", "a prompt of mine"],
])("%s", (text, advice) => {
  expect(adviceForAgents(text)).toBe(advice);
});

it.each(Object.keys(COMMANDS).filter((name) => name !== "login"))(
  "leaves no sentence that is about the command %s",
  (name) => {
    expect(adviceForAgents(`Nothing was sent. See imggen ${name} --all.`)).not.toContain("--all");
    expect(adviceForAgents(`Nothing was sent. Then imggen ${name}.`)).not.toContain(`imggen ${name}`);
  },
);
