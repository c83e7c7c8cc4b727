/**
 * When to poll a task while it runs.
 *
 * The idea. Every poll costs the service a request, and every millisecond between a task's completion and the next poll
 * costs the user waiting time. Tasks of one model and quality take similar times, so polls belong where completions
 * are likely. This machine's ledger knows, for each past task, the last poll that found it running and the poll that
 * found it completed.
 *
 * The terms. A poll asks for a task's status once. A schedule says when to poll. A task's age counts from its acceptance,
 * and is divided into bins. The estimate is the share of tasks that complete in each bin. Its hazard at an age is the
 * chance that a task which still runs then completes next. A plan is the number of polls due by each age. Delay is the
 * time between a task's completion and the poll that sees it.
 *
 * From history to schedule, a file each:
 * - `history.ts`: the last 50 tasks as intervals; older tasks count less (0.95 each).
 * - `estimate.ts`: how long tasks take, as shares of all tasks in each bin (`bins.ts`; `interpolate.ts` reads between
 *   them). A kernel density estimate over the logarithm of the duration.
 * - `fallback.ts`: adds the chance that the service has become slower or faster.
 * - `plan.ts`: how often to poll at which age: in proportion to the square root of the hazard, the chance that a task
 *   which still runs completes now.
 * - `learned.ts`: the plan as a schedule. `fixed.ts`: the schedules that need no history. `schedules.ts`: chooses one
 *   for each task of a run, and moves the first polls of most tasks a little later. `wait.ts`: polls by it.
 *
 * Where the constants come from.
 * - The reference client (section 4.2) polls every 3 s, at most 60 times. 60 polls in any 180 s is this program's promise
 *   too; plans have 58, which leaves one for a poll at once and one at the deadline.
 * - 1.45 times the reference client's polls reduce its mean delay to a third. More polls bring little.
 * - The fallback's and the estimate's weights were chosen with `test/bench/polling.js`, which simulates tasks of 8, 20
 *   and 45 s, steady, memoryless, of two kinds, and becoming 2 or 3 times slower or faster. After 20 tasks of 8 s or
 *   20 s, give or take a quarter, completions are seen in 0.34 of the reference client's mean delay (1.5 s) with 1.44
 *   times its polls. Tasks of 45 s are limited by the 58 polls: 0.6 of the delay with 0.87 of the polls.
 * - Tasks without a history are seen no later than by the reference client with the same number of polls.
 */

export {
  defaultSchedule,
  expectedSchedule,
  fixedSchedule,
  type PollingSchedule,
  staggeredFirstPollMs,
} from "./fixed.ts";
export { type CompletionInterval, isInformative } from "./history.ts";
export { type LearnedSchedule, learnedSchedule } from "./learned.ts";
