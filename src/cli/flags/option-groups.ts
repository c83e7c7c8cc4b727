/** Headings that options stand under in help, in the order of the help. */
export const OPTION_GROUPS = {
  request: "Prompt and model:",
  output: "Output:",
  cost: "Cost:",
  waiting: "Waiting:",
  advanced: "Advanced:",
} as const;

/** For a flag that may be repeated: its values in order. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
