// How often a task is looked at while it runs.

export {
  defaultSchedule,
  expectedSchedule,
  fixedSchedule,
  type PollingSchedule,
  staggeredSchedule,
} from "./fixed.ts";
export { type CompletionInterval, isInformative } from "./history.ts";
export { learnedSchedule } from "./learned.ts";
