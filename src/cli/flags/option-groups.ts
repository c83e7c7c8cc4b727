/** Headings that options stand under in help, in the order of the help. */
export const OPTION_GROUPS = {
  request: "Prompt and model:",
  output: "Output:",
  cost: "Cost:",
  waiting: "Waiting:",
  advanced: "Advanced:",
} as const;
