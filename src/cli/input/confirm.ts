import type { Session } from "../session/session.ts";
import { readLine } from "./input-stream.ts";

/** Whether there is a person at a terminal who can be asked. */
export function canAsk({ context: { stdin, stderr } }: Session): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks the person at the terminal; anything but `y` or `yes` is no. @throws the signal's reason */
export async function confirmed(question: string, { console, context }: Session): Promise<boolean> {
  await console.question(`${question} [y/N] `);
  let isAnswered = false;
  try {
    const answer = await readLine(context);
    isAnswered = context.stdin.readableEnded !== true;
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    if (!isAnswered) await console.endQuestion();
  }
}
