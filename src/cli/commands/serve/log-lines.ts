import { formatDuration } from "../../../lib/duration.ts";
import type { ServiceEvent } from "../../../sandbox/generator-service.ts";
import type { Paint, TextStyle } from "../../text/colors.ts";
import { clockTime } from "../serving.ts";

type EndedEvent = Extract<ServiceEvent, { kind: "ended" }>;

/**
 * What happens in the queue, a line each: `14:30:05 task_3f9c completed, sdxl, 1024x1024, 8.1 s, 3 waiting`.
 * @param nowMs milliseconds since the epoch
 */
export function eventLine(event: ServiceEvent, nowMs: number): string {
  const time = clockTime(nowMs);
  switch (event.kind) {
    case "ended":
      return `${time} ${event.task.taskId} ${endedWords(event)}`;
    case "paused":
      return `${time} waiting: ${event.detail}`;
    case "dropped":
      return `${time} ${event.taskId} left to others: ${event.why}`;
  }
}

function endedWords({ task, state, ms, waiting }: EndedEvent): string {
  const facts = [task.model, sizesOf(state), formatDuration(ms), `${waiting} waiting`];
  const words = facts.filter((fact) => fact !== null).join(", ");
  if (state.name === "failed") {
    const word = state.failure.outcome === "unknown" ? "outcome unknown" : "failed";
    return `${word}, ${words}: ${state.failure.detail}`;
  }
  const failures = state.failures.map(({ detail }) => detail);
  return failures.length === 0 ? `completed, ${words}` : `completed in part, ${words}: ${failures.join(" ")}`;
}

/** `1024x1024`, or all sizes where there are several images; null if there is none. */
function sizesOf(state: EndedEvent["state"]): string | null {
  if (state.name === "failed") return null;
  return state.images.map(({ width, height }) => `${width}x${height}`).join(" ");
}

/** The time dimmed, and what was done coloured. */
export function eventPaint(event: ServiceEvent): (style: TextStyle) => Paint {
  const isGood =
    event.kind === "ended" && event.state.name === "completed" && event.state.failures.length === 0;
  const meaning = isGood ? "saved" : event.kind === "ended" ? "error" : "warning";
  return (style) => (line) =>
    line.replace(
      /^(\S+)( task_\w+)? (completed|failed|outcome unknown|waiting)/,
      (_all, time: string, task = "", word: string) =>
        `${style("detail", time)}${task} ${style(meaning, word)}`,
    );
}
