import { UsageError } from "../../lib/error-types.ts";
import { CALLS } from "./call-table.ts";
import type { Options } from "./option.ts";
import { valueProblem } from "./option-kinds.ts";

/** Checks the options of a call at run time, for callers without types. @throws UsageError naming call and option */
export function checkOptions(call: keyof typeof CALLS, options: unknown): void {
  if (typeof options !== "object" || options === null)
    throw new UsageError(`${call}: its options are not an object.`);
  const table: Options = CALLS[call];
  for (const [name, value] of Object.entries(options)) {
    const option = Object.hasOwn(table, name) ? table[name] : undefined;
    if (option === undefined) {
      const hint = `Options are ${Object.keys(table).join(", ")}.`;
      throw new UsageError(`${call}: there is no option ${JSON.stringify(name)}.`, { hint });
    }
    const problem = value === undefined ? null : valueProblem(option, value);
    if (problem !== null) throw new UsageError(`${call}: ${name} must be ${problem}.`);
  }
}
