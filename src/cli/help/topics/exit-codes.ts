import { exitCodeTable } from "../exit-code-table.ts";
import type { Topic } from "../topic.ts";

export const TOPIC: Topic = [
  "Every command ends with one of these. The words in brackets are the error.type of --json.",
  "",
  ...exitCodeTable().map(
    ({ code, types, meaning }) =>
      [String(code), types.length > 0 ? `${meaning} (${types.join(", ")})` : meaning] as const,
  ),
  "",
  "status and resume with several tasks end with the code of the worst.",
];
