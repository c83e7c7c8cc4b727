// How often a task is looked at while it runs.

export {
  automaticCadence,
  type Cadence,
  expectedCadence,
  spreadCadence,
  uniformCadence,
} from "./cadence/fixed.ts";
export { type CompletionInterval, isTelling } from "./cadence/history.ts";
export { learnedCadence } from "./cadence/learned.ts";
