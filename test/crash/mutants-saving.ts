import type { Mutant } from "./mutant.ts";
import { always, instead, never, returns, without } from "./operators.ts";
import { incidentAt, UNDISTURBED } from "./points.ts";
import { SCENARIOS, TOGETHER } from "./scenarios.ts";

/** Bugs in how an image gets its name. */
export const SAVING_MUTANTS: Mutant[] = [
  {
    bug: "publishing replaces what has the name",
    edits: [always("publishAs", "destination.overwrite"), returns("#mayBeReplaced", "true")],
    shows: { scenario: SCENARIOS.nameTaken, at: UNDISTURBED },
  },
  {
    bug: "an image is published before it was checked",
    edits: [
      instead(
        "writeImage",
        "inspectImage",
        `{ ok: true, image: { type: "png", mediaType: "image/png", extension: "png", width: 1, height: 1 } }`,
      ),
    ],
    shows: { scenario: SCENARIOS.plain, at: incidentAt("download: half", "end") },
  },
  {
    bug: "an image's bytes are not synced before it is published",
    edits: [without("finish", "sync")],
    shows: {
      scenario: SCENARIOS.plain,
      at: /^power cut: bytes at operation \d+, (open out|sync out|unlink \.\d{8}T.*)$/,
    },
  },
  {
    bug: "the folder of a published image is not synced",
    edits: [without("placeImage", "syncFolder")],
    shows: {
      scenario: SCENARIOS.plain,
      at: /^power cut: names at operation \d+, (rename|close|readFile) .*\.jsonl$/,
    },
  },
  {
    bug: "an image that was published before the crash is saved again",
    edits: [never("publishNumbered", "recovering")],
    shows: { scenario: SCENARIOS.plain, at: /^kill-after at operation \d+, link .*\.png$/ },
  },
  {
    bug: "what a crashed download left is never removed",
    edits: [without("saveImages", "sweepLeftovers")],
    shows: { scenario: SCENARIOS.plain, at: /^kill-after at operation \d+, write \.\d{8}T.*$/ },
  },
  {
    bug: "two processes share the name of a temporary file",
    edits: [
      instead("saveImage", "temporaryName", `".imggen-download"`),
      instead("writeImageFile", "DiskFile.createInBackground", "$.catch(() => DiskFile.openToAppend(path))"),
    ],
    shows: { scenario: TOGETHER.generations, at: incidentAt("download: half", "stall") },
  },
  {
    bug: "without hard links, publishing replaces what has the name",
    edits: [never("renameIfFree", "isNameTaken")],
    shows: { scenario: SCENARIOS.noHardLinks, at: UNDISTURBED },
  },
  {
    bug: "the reservation of a name is not given up",
    edits: [without("renameIfFree", "release")],
    shows: { scenario: SCENARIOS.noHardLinks, at: UNDISTURBED },
  },
];
