import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { rowDigest } from "../../src/core/batch/batch-row.ts";
import { DEFAULT_MODEL } from "../../src/models/matrix.ts";
import { FLAG_LABELS } from "../../src/models/rules/rule.ts";
import { requestToInput, toRequest } from "../../src/models/wire.ts";
import { FIELD_NAMES, type FieldName } from "../../src/task/request-fields.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds, holdsInTime } from "../support/holds.ts";
import { runCommand } from "../support/in-process.ts";
import { drafts, requests } from "../support/requests.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

// All of this goes through the fields of the table, and so through any that is added to it.

const CASES = 4000;

const anyText = fc.string({ unit: anyCharacter, maxLength: 8 });
/** No model's name, and nothing that a shell, a flag or a manifest reads as something else. */
const plainText = fc.stringMatching(/^x[a-z0-9:.-]{0,8}$/);
/** Without what the service refuses, for which its document has no place. */
const plainDrafts = drafts(plainText, plainText).map(
  ({ seed: _seed, negative: _negative, fields: _fields, ...rest }) => rest,
);

it("a draft that is sent and taken back from the wire is the same draft", () => {
  holds(
    fc.property(drafts(anyText, anyText), anyText, (input, model) => {
      const request = toRequest(input, model);
      expect(requestToInput(request)).toEqual({ ...input, model });
      expect(Object.keys(request)).toEqual(FIELD_NAMES.filter((name) => name in request));
    }),
    CASES,
  );
});

it("a request that is taken for a draft and sent again is the same request", () => {
  holds(
    fc.property(drafts(anyText, anyText), anyText, (input, model) => {
      const request = toRequest(input, model);
      expect(toRequest(requestToInput(request), request.model)).toStrictEqual(request);
    }),
    CASES,
  );
});

it("flags come to the request that they say", async () => {
  const home = await temporaryFolder();
  const flags = ({ prompt: _prompt, ...rest }: Record<string, unknown>) =>
    Object.entries(rest).flatMap(([name, value]) =>
      [value].flat().map((each) => `${FLAG_LABELS[name as FieldName]}=${each}`),
    );
  await holdsInTime(
    fc.asyncProperty(plainDrafts, async (input) => {
      const args = ["generate", input.prompt, ...flags({ ...input }), "--no-validate", "--dry-run", "--json"];
      const { stdout } = await runCommand(args, { home });
      expect(JSON.parse(stdout).request).toEqual(toRequest(input, input.model ?? DEFAULT_MODEL));
    }),
    200,
  );
});

it("a row of a manifest comes to the request that it says", async () => {
  const home = await temporaryFolder();
  await holdsInTime(
    fc.asyncProperty(plainDrafts, async (input) => {
      const args = ["batch", "-", "--no-validate", "--dry-run", "--json"];
      const { stdout } = await runCommand(args, { home, input: JSON.stringify(input) });
      const [first = ""] = stdout.split("\n");
      expect(JSON.parse(first).request).toEqual(toRequest(input, input.model ?? DEFAULT_MODEL));
    }),
    200,
  );
});

it("two requests have one digest where they say the same, and there alone", () => {
  holds(
    fc.property(requests(fc.constantFrom("x", "y")), requests(fc.constantFrom("x", "y")), (one, other) => {
      const [first, second] = [one, other].map((request) =>
        toRequest(requestToInput(request), request.model),
      );
      const same = isDeepStrictEqual(first, second);
      expect(rowDigest(one, undefined) === rowDigest(other, undefined)).toBe(same);
    }),
    CASES,
  );
});
