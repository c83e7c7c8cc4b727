// How often a task is looked at while it runs.

export {
  automaticCadence,
  type Cadence,
  expectedCadence,
  spreadCadence,
  uniformCadence,
} from "./fixed.ts";
export { type CompletionInterval, isTelling } from "./history.ts";
export { learnedCadence } from "./learned.ts";
