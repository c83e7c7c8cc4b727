import { describe, expect, it } from "vitest";
import { hasScreen, Screen } from "../support/screen.ts";
import { words } from "../support/words.ts";

const ARGS = words(
  'compare "a red fox" -m gamma-image-2,z-image -r 1:1,16:9 --sandbox -o out --poll-interval 100ms',
);

describe.skipIf(!hasScreen)("compare on a real terminal", () => {
  it.each([100, 80, 60])(
    "shows in %d columns what is compared, and the end of each file's name",
    async (columns) => {
      const lines = await Screen.after(ARGS, { columns });
      const headings = "MODEL RATIO SECONDS SIZE FILE";
      expect(lines.map((line) => line.replaceAll(/ +/g, " "))).toContain(headings);
      expect(
        lines.filter((line) => /^(?:gamma-image-2|z-image) +(?:1:1|16:9) .*…\S+\.png$/.test(line)),
      ).toHaveLength(4);
    },
  );

  it("names the contact sheet on a line of its own where it has no room beside what it is", async () => {
    const lines = await Screen.after([...ARGS, "--sheet"], { columns: 40 });
    expect(lines).toContain("Contact sheet:");
  });

  it("keeps models, ratios and files in 40 columns", async () => {
    const lines = await Screen.after(ARGS, { columns: 40 });
    expect(lines).toContainEqual(expect.stringMatching(/^MODEL +RATIO +FILE$/));
    expect(lines.join(" ").replaceAll(/ +/g, " ")).toContain("Columns that do not fit: SECONDS, SIZE.");
  });
});
