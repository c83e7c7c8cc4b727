import { expect, it } from "vitest";
import { EXIT_CODES, SIGNAL_CODES, worstExitCode } from "../../src/client/exit-codes.ts";

it.each(Object.values({ ...EXIT_CODES, ...SIGNAL_CODES }))("%i is worse than success", (code) => {
  expect(worstExitCode([0, code])).toBe(code);
});

it("several tasks end with the code of the worst", () => {
  expect(worstExitCode([])).toBe(0);
  expect(worstExitCode([EXIT_CODES.pending, EXIT_CODES.auth_required, 0])).toBe(EXIT_CODES.auth_required);
});
