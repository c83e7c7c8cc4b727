import type { Session } from "../../app/session.ts";
import type { Paint, TextStyleName } from "../../output/colors.ts";
import { pieces } from "../../output/fold.ts";
import { hasSymbols } from "../../output/symbols.ts";
import { roomOn, wrapWords } from "../../output/wrap.ts";
import type { CheckResult, CheckStatus } from "./check.ts";
import { CHECKS } from "./checks.ts";

const STATUSES: Readonly<Record<CheckStatus, { symbol: string; style: TextStyleName }>> = {
  ok: { symbol: "✓", style: "saved" },
  warning: { symbol: "!", style: "warning" },
  failed: { symbol: "✗", style: "error" },
  skipped: { symbol: "-", style: "detail" },
};

const BETWEEN = 2;
/** Text that would have less room than this beside a check's name is put below it. */
const FEWEST_TEXT_COLUMNS = 30;
const TEXT_INDENT = 4;

/** Shows the results of checks: a line each, continued below its text where a terminal is too narrow. */
export async function createLines({ console, context }: Session) {
  const { stdout, env } = context;
  const style = await console.style("stdout");
  const isForPeople = stdout.isTTY === true && hasSymbols(env);
  const markOf = (status: CheckStatus) => (isForPeople ? STATUSES[status].symbol : status);
  const markColumns = Math.max(
    ...Object.keys(STATUSES).map((status) => markOf(status as CheckStatus).length),
  );
  return {
    async show({ name, ...result }: CheckResult & { name: string }): Promise<void> {
      const mark = markOf(result.status);
      const head = `${mark.padEnd(markColumns)} ${name.padEnd(NAME_COLUMNS)}`;
      const paint: Paint = (line, at) =>
        at === 0 ? style(STATUSES[result.status].style, mark) + line.slice(mark.length) : line;
      await console.result(linesOf(head, result, roomOn(stdout)), paint);
    },
  };
}

const NAME_COLUMNS = Math.max(...CHECKS.map(({ name }) => name.length));

/** Where there is room, all of it in one line; otherwise the next step begins a line. */
function linesOf(head: string, { message, hint }: CheckResult, columns: number): string[] {
  const beside = head.length + BETWEEN;
  const parts = [message, ...(hint?.split("\n") ?? [])];
  // A part that ends in a command has no full stop of its own.
  const whole = parts.map((part, at) => (at < parts.length - 1 ? ended(part) : part)).join(" ");
  if (beside + whole.length <= columns) return [`${head.padEnd(beside)}${whole}`];
  const isBeside = columns - beside >= FEWEST_TEXT_COLUMNS;
  const indent = isBeside ? beside : TEXT_INDENT;
  const text = parts.flatMap((part) => wrapWords(pieces(part), { columns, indent }));
  if (!isBeside) return [head.trimEnd(), ...text];
  const [first = "", ...more] = text;
  return [head + first.slice(head.length), ...more];
}

function ended(sentence: string): string {
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
