import type { Mutant } from "./mutant.ts";
import { incidentAt, UNDISTURBED } from "./points.ts";
import { SCENARIOS, TOGETHER } from "./scenarios.ts";

/** Bugs in how an image gets its name. */
export const SAVING_MUTANTS: Mutant[] = [
  {
    bug: "publishing replaces what has the name",
    edits: [
      {
        file: "core/images/publish-image.ts",
        find: "  if (!spec.destination.overwrite) return publish",
        replace: "  if (false) return publish",
      },
      {
        file: "core/images/published-names.ts",
        find: "    return !this.#earlier.has(key) && there.mtimeMs < sinceMs;",
        replace: "    return true;",
      },
    ],
    shows: { scenario: SCENARIOS.nameTaken, at: UNDISTURBED },
  },
  {
    bug: "an image is published before it was checked",
    edits: [
      {
        file: "core/images/download-image.ts",
        find: "  if (!inspection.ok) {",
        replace: "  if (inspection === undefined) {",
      },
      {
        file: "core/images/download-image.ts",
        find: "image: inspection.image }",
        replace: `image: inspection.image ?? { mediaType: "image/png", extension: "png", width: 1, height: 1 } }`,
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: incidentAt("download: half", "end") },
  },
  {
    bug: "an image's bytes are not synced before it is published",
    edits: [{ file: "core/images/file-sink.ts", find: "    await this.#file.sync();\n", replace: "" }],
    shows: {
      scenario: SCENARIOS.plain,
      at: /^power cut: bytes at operation \d+, (open out|sync out|unlink .*\.part)$/,
    },
  },
  {
    bug: "the folder of a published image is not synced",
    edits: [
      {
        file: "core/images/place-image.ts",
        find: "    await syncFolder(path.dirname(file));\n",
        replace: "",
      },
    ],
    shows: {
      scenario: SCENARIOS.plain,
      at: /^power cut: names at operation \d+, (rename|close|readFile) .*\.jsonl$/,
    },
  },
  {
    bug: "an image that was published before the crash is saved again",
    edits: [
      {
        file: "core/images/publish-image.ts",
        find: "    if (spec.recovering && !isOurs && (await",
        replace: "    if (false && !isOurs && (await",
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill-after at operation \d+, link .*\.png$/ },
  },
  {
    bug: "what a crashed download left is never removed",
    edits: [
      {
        file: "core/images/save-images.ts",
        find: "  if (spec.recovering && spec.owned) await",
        replace: "  if (false) await",
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill-after at operation \d+, write .*\.part$/ },
  },
  {
    bug: "two processes share the name of a temporary file",
    edits: [
      {
        file: "core/images/save-images.ts",
        find: "ownedName(kind, processes.self)",
        replace: `".imggen-download.part"`,
      },
      {
        file: "core/images/download-image.ts",
        find: "() => DiskFile.createInBackground(temporary, 0o600)",
        replace:
          "() => DiskFile.createInBackground(temporary, 0o600).catch(() => DiskFile.openToAppend(temporary))",
      },
    ],
    shows: { scenario: TOGETHER.generations, at: incidentAt("download: half", "stall") },
  },
  {
    bug: "without hard links, publishing replaces what has the name",
    edits: [
      {
        file: "lib/publish.ts",
        find: '    if (await nameIsTaken(target)) return "exists";',
        replace: "",
      },
    ],
    shows: { scenario: SCENARIOS.noHardLinks, at: UNDISTURBED },
  },
  {
    bug: "the reservation of a name is not given up",
    edits: [{ file: "lib/publish.ts", find: "    await release();", replace: "" }],
    shows: { scenario: SCENARIOS.noHardLinks, at: UNDISTURBED },
  },
];
