import { describe, expect, it } from "vitest";
import { hasScreen, Screen } from "../support/screen.ts";

const ARGS = [
  "compare",
  "a red fox",
  "-m",
  "gamma-image-2,z-image",
  "-r",
  "1:1,16:9",
  "--sandbox",
  "-o",
  "out",
];

describe.skipIf(!hasScreen)("compare on a real terminal", () => {
  it.each([100, 80])(
    "shows in %d columns what is compared, and the end of each file's name",
    async (columns) => {
      const lines = await Screen.after(ARGS, { columns });
      expect(lines).toContainEqual(
        expect.stringMatching(/^MODEL +RATIO +QUALITY +CREDITS +SECONDS +SIZE +FILE$/),
      );
      expect(
        lines.filter((line) => /^(?:gamma-image-2|z-image) +(?:1:1|16:9) .*…\S+\.png$/.test(line)),
      ).toHaveLength(4);
    },
  );

  it.each([80, 40])("says in %d columns which combination is skipped, and why", async (columns) => {
    const args = ["compare", "a red fox", "-m", "gamma-image-2,z-image", "-r", "21:9", "--sandbox"];
    const lines = await Screen.after(args, { columns });
    expect(lines.join("").replaceAll(" ", "")).toContain(
      "z-image21:9:skipped:--ratio21:9:z-imagetakesonly1:1,4:3,3:4,16:9,9:16.",
    );
  });

  it("cuts no heading in 60 columns, and keeps the end of each file's name", async () => {
    const lines = await Screen.after(ARGS, { columns: 60 });
    expect(lines).toContainEqual(expect.stringMatching(/^MODEL +RATIO +QUALITY +CREDITS +FILE$/));
    expect(lines.filter((line) => /…[\w-]{8,}\.png$/.test(line))).toHaveLength(4);
    expect(lines).toContain("Not shown for lack of room: SECONDS, SIZE.");
  });

  it("names the contact sheet on a line of its own where it has no room beside what it is", async () => {
    const lines = await Screen.after([...ARGS, "--sheet"], { columns: 40 });
    expect(lines).toContain("Contact sheet:");
  });

  it("keeps models, ratios and credits in 40 columns", async () => {
    const lines = await Screen.after(ARGS, { columns: 40 });
    expect(lines).toContainEqual(expect.stringMatching(/^MODEL +RATIO +QUALITY +CREDITS$/));
    expect(lines.join(" ").replaceAll(/ +/g, " ")).toContain(
      "Not shown for lack of room: SECONDS, SIZE, FILE.",
    );
  });
});
