import type { BatchSpec } from "../../../core/batch/batch-spec.ts";
import type { RunNotes } from "../../output/task-notes.ts";
import { createProgress, type Progress } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import { hasSymbols, type Paint, type TextStyle } from "../../text/colors.ts";
import type { Console } from "../../text/console.ts";
import { noteText, stoppingText } from "../../text/phrases.ts";
import { BAR, batchLines } from "./bar.ts";
import { rowNotes } from "./row-notes.ts";

/** Shows how a batch is getting on: a bar on a terminal, and a line for each row that fails. */
export async function createBatchProgress(
  session: Session,
  { nameOf }: Pick<BatchSpec, "nameOf">,
): Promise<Progress> {
  const { console, context } = session;
  return createProgress(
    session,
    {
      lines({ batch }, nowMs, columns) {
        if (batch === null || batch.startMs === null) return [];
        return batchLines({ ...batch, elapsedMs: nowMs - batch.startMs }, columns, hasSymbols(context.env));
      },
      notes: () => batchNotes(console, nameOf),
    },
    { paint: barPaint(console.style("stderr")), isBesideResults: true },
  );
}

const WORTH_A_WORD_MS = 5_000;

function batchNotes(console: Console, nameOf: BatchSpec["nameOf"]): RunNotes {
  const noteOf = rowNotes();
  let isStopping = false;
  return {
    show(event) {
      switch (event.type) {
        case "submit_interrupted":
          if (isStopping) return;
          isStopping = true;
          // The other rows that are under way say so in the same moment.
          queueMicrotask(() => void console.note(stoppingText(event.waitMs, console.awaited, 2)));
          return;
        case "outage":
          void console.note(noteText(event));
          return;
        case "busy":
          if (event.delayMs >= WORTH_A_WORD_MS) void console.note(noteText(event));
          return;
        case "row_ended": {
          const note = noteOf(event.result, nameOf(event.result.row));
          if (note !== null) void console.error(note);
        }
      }
    },
  };
}

const DONE_ROWS = new RegExp(`^${BAR.done}+`);
const LEFT_ROWS = new RegExp(`${BAR.left}+`);

function barPaint(style: TextStyle): Paint {
  return (line, at) => {
    if (at > 0) return style("detail", line);
    return line
      .replace(LEFT_ROWS, (bar) => style("detail", bar))
      .replace(DONE_ROWS, (bar) => style("saved", bar))
      .replace(/\d+ failed/, (text) => style("error", text));
  };
}
