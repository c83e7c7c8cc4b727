import { type Screen, screenOf } from "../../graphics/terminal.ts";
import type { Session } from "../app/session.ts";

/** How this terminal shows pictures. @param mayAsk whether it may be sent questions */
export function findScreen({ context, console }: Session, mayAsk = true): Promise<Screen> {
  const { stdout, env } = context;
  return screenOf({
    env,
    columns: stdout.columns || 80,
    rows: stdout.rows || 24,
    hasColors: console.takesColors("stdout"),
    named: context.namedGraphics,
    ask: mayAsk ? context.queryTerminal : async () => "",
  });
}
