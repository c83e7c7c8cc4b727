import type { Topic } from "../topic-names.ts";

export const TOPIC: Topic = [
  "Manifests:",
  [".txt", "one prompt per line; blank lines and # lines are skipped"],
  [".jsonl, .ndjson", "one object per line"],
  [
    ".csv",
    "a header, then rows, separated by commas, semicolons or tabs; several image URLs in a cell are separated by spaces",
  ],
  ["-", "JSON lines, or plain prompts, from standard input"],
  "",
  "image is a URL or, with your own generator, a file. A relative path starts at the manifest's folder, or at the current one if the manifest is standard input.",
  "",
  "Cost:",
  "  The whole manifest is checked before anything is sent, and the cost is shown. Above confirmAbove credits imggen asks; without a terminal it needs --yes or --max-credits. --max-credits is the budget of the whole batch, earlier runs included.",
  "",
  "Resuming:",
  "  Run the same command again. A batch is its output folder; a row is known by its content, not by its line. A saved row is skipped, an accepted one is finished, one whose outcome is unknown is reported and left (--resubmit-unknown submits it again). Two processes never submit one row twice.",
  "",
  "Exit codes: 0 if every row is saved, 10 if some are not, 3 or 4 if the account stopped the batch.",
  "",
  "See also: imggen help scale",
];
