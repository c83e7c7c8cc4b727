import type { Mutant } from "./mutant.ts";
import { incidentAt, UNDISTURBED } from "./points.ts";
import { SCENARIOS, TOGETHER } from "./scenarios.ts";

/** Bugs in how an image gets its name. */
export const SAVING_MUTANTS: Mutant[] = [
  {
    bug: "publishing replaces what has the name",
    edits: [
      { find: "  if (!spec.destination.overwrite) return publish", replace: "  if (false) return publish" },
      { find: "    return !this.#earlier.has(key) && there.mtimeMs < sinceMs;", replace: "    return true;" },
    ],
    shows: { scenario: SCENARIOS.nameTaken, at: UNDISTURBED },
  },
  {
    bug: "an image is published before it was checked",
    edits: [
      {
        find: `if (!inspection.ok) { const what = inspection.problem === "incomplete" ? "the`,
        replace: `if (inspection === undefined) { const what = inspection.problem === "incomplete" ? "the`,
      },
      {
        find: "image: inspection.image }",
        replace: `image: inspection.image ?? { mediaType: "image/png", extension: "png", width: 1, height: 1 } }`,
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: incidentAt("download: half", "end") },
  },
  {
    bug: "an image's bytes are not synced before it is published",
    edits: [{ find: "throw this.#failure; await this.#file.sync();", replace: "throw this.#failure;" }],
    shows: {
      scenario: SCENARIOS.plain,
      at: /^power cut: bytes at operation \d+, (open out|sync out|unlink .*\.part)$/,
    },
  },
  {
    bug: "the folder of a published image is not synced",
    edits: [
      { find: "await syncFolder(path.dirname(file)); return { path: file", replace: "return { path: file" },
    ],
    shows: {
      scenario: SCENARIOS.plain,
      at: /^power cut: names at operation \d+, (rename|close|readFile) .*\.jsonl$/,
    },
  },
  {
    bug: "an image that was published before the crash is saved again",
    edits: [
      { find: "    if (spec.recovering && !isOurs && (await", replace: "    if (false && !isOurs && (await" },
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill-after at operation \d+, link .*\.png$/ },
  },
  {
    bug: "what a crashed download left is never removed",
    edits: [{ find: "  if (spec.recovering && spec.owned) await", replace: "  if (false) await" }],
    shows: { scenario: SCENARIOS.plain, at: /^kill-after at operation \d+, write .*\.part$/ },
  },
  {
    bug: "two processes share the name of a temporary file",
    edits: [
      { find: "ownedName(kind, processes.self)", replace: `".imggen-download.part"` },
      {
        find: "() => DiskFile.createInBackground(temporary, 0o600)",
        replace:
          "() => DiskFile.createInBackground(temporary, 0o600).catch(() => DiskFile.openToAppend(temporary))",
      },
    ],
    shows: { scenario: TOGETHER.generations, at: incidentAt("download: half", "stall") },
  },
  {
    bug: "without hard links, publishing replaces what has the name",
    edits: [{ find: '    if (await nameIsTaken(target)) return "exists";', replace: "" }],
    shows: { scenario: SCENARIOS.noHardLinks, at: UNDISTURBED },
  },
  {
    bug: "the reservation of a name is not given up",
    edits: [{ find: "finally { await release(); } }", replace: "finally {} }" }],
    shows: { scenario: SCENARIOS.noHardLinks, at: UNDISTURBED },
  },
];
