import { describe, expect, it } from "vitest";
import { NetworkError, OutcomeUnknownError } from "../../src/api/api-errors.ts";
import { failureLines } from "../../src/cli/text/phrases.ts";
import { requireApiKey } from "../../src/client/account.ts";
import { PACKAGE_WORDS } from "../../src/client/create-client.ts";
import { EXIT_CODES } from "../../src/client/exit-codes.ts";
import { describeFailure } from "../../src/client/failure.ts";
import { type ErrorType, ImggenError } from "../../src/lib/error-types.ts";
import { COMMAND_VOCABULARY, type Vocabulary } from "../../src/lib/wording.ts";
import { InvalidRequestError } from "../../src/models/invalid-request.ts";

class AnyError extends ImggenError {
  readonly type: ErrorType;

  constructor(type: ErrorType) {
    super("What happened.");
    this.type = type;
  }
}

const TASK = {
  taskId: "task-1",
  ledgerId: "20261122T092156123-9c41d07e",
  charged: "yes",
  state: "accepted",
} as const;
const UNKNOWN = { ...TASK, taskId: null, charged: "unknown", state: "unknown" } as const;

describe("what a failure advises", () => {
  const types = [...Object.keys(EXIT_CODES), "interrupted"] as ErrorType[];

  it.each(
    types.flatMap((type) => [[type, undefined] as const, [type, TASK] as const, [type, UNKNOWN] as const]),
  )("of %s is at most two lines, of one command each at most", (type, task) => {
    const lines = describeFailure(new AnyError(type), COMMAND_VOCABULARY, task).error.hint.split("\n");
    expect(lines.length).toBeLessThanOrEqual(2);
    for (const line of lines)
      expect(line.match(/: imggen |\bimggen [a-z]+ </g)?.length ?? 0).toBeLessThanOrEqual(1);
  });

  it("of an unknown outcome is how to submit again, and how to dismiss it", () => {
    expect(
      failureLines(
        describeFailure(new OutcomeUnknownError("The reply was lost."), COMMAND_VOCABULARY, UNKNOWN),
      ),
    ).toEqual([
      "error: The reply was lost.",
      "  It may have been charged. To submit it again, at a new charge: imggen rerun 20261122T092156123-9c41d07e",
      "  To dismiss it: imggen resume 20261122T092156123-9c41d07e --dismiss",
    ]);
  });

  it("of an unknown outcome is first of all the task that the reply mentions", () => {
    const error = new OutcomeUnknownError("The reply was lost.", { mentionedTaskId: "task_x" });
    expect(describeFailure(error, COMMAND_VOCABULARY, UNKNOWN).error.hint.split("\n")).toEqual([
      "It may have been charged. To check whether task task_x in the reply belongs to this request: imggen resume task_x",
      "To submit it again, at a new charge: imggen rerun 20261122T092156123-9c41d07e",
    ]);
  });

  it.each([
    ["Use another name", "Use another name."],
    ["Shorten it.", "Shorten it."],
    ["Is it reachable?", "Is it reachable?"],
    ["To see them: imggen history", "To see them: imggen history"],
    ["For a folder, write --output fox.png/", "For a folder, write --output fox.png/"],
    ["Example: http://proxy.example:3128", "Example: http://proxy.example:3128"],
  ])("of an error that knows better ends like a sentence, or in what is to be pasted: %j", (hint, shown) => {
    const hintOf = (error: Error, task?: typeof TASK) =>
      describeFailure(error, COMMAND_VOCABULARY, task).error.hint;
    const unreachable = new NetworkError("No connection.", { hint });
    expect(hintOf(unreachable)).toBe(shown);
    expect(hintOf(unreachable, TASK)).toBe(`${shown}\nResume with: imggen resume task-1`);
    expect(hintOf(new InvalidRequestError("A rule.", { hint }))).toBe(`Nothing was sent. ${shown}`);
  });

  it("without an account is a sentence on the sandbox, for the command line and for the package", async () => {
    const error = await Promise.resolve(undefined)
      .then(requireApiKey)
      .catch((error: unknown) => error);
    const lastLine = (words: Vocabulary) => describeFailure(error, words).error.hint.split("\n").at(-1);
    expect(lastLine(COMMAND_VOCABULARY)).toBe("To try without an account, free of charge, add --sandbox.");
    expect(lastLine(PACKAGE_WORDS)).toBe(
      "To try without an account, free of charge, use createClient({ sandbox: true }).",
    );
  });
});
