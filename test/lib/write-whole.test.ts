import { expect, it } from "vitest";
import { randomDigits } from "../../src/lib/write-whole.ts";

it("draws eight hexadecimal digits, others every time", () => {
  const drawn = Array.from({ length: 2000 }, randomDigits);
  for (const digits of drawn) expect(digits).toMatch(/^[0-9a-f]{8}$/);
  // Of so few, hardly ever two are the same.
  expect(new Set(drawn).size).toBeGreaterThan(1990);
});
