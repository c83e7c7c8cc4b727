import { expect, it } from "vitest";
import { acceptedLengths, inspect } from "./builders.ts";

/** What holds for a whole image of every format. */
export function itIsWhole(bytes: Buffer, image: object): void {
  it("is recognised with its size", () => {
    expect(inspect(bytes)).toEqual({ ok: true, image });
  });

  it("is incomplete at every length but its own", () => {
    expect(acceptedLengths(bytes)).toEqual([bytes.length]);
  });
}

/** What holds where a format has an end, and nothing after it counts. */
export function itMayBeFollowed(bytes: Buffer, image: object): void {
  it("may be followed by other bytes", () => {
    expect(inspect(Buffer.concat([bytes, bytes, Buffer.from("tail")]))).toEqual({ ok: true, image });
  });
}
