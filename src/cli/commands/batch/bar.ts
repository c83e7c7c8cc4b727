import { formatDuration } from "../../../lib/duration.ts";
import type { BatchProgress } from "../../output/run-progress.ts";

export type BatchView = Omit<BatchProgress, "creditsBefore" | "startMs"> & { elapsedMs: number };

export const BAR = { done: "━", left: "─" } as const;
const PLAIN_BAR = { done: "#", left: "-" } as const;

const NARROWEST_BAR = 6;
const WIDEST_BAR = 30;
/** Sooner a rate says little. */
const RATE_AFTER_MS = 2000;

/**
 * Two lines for a terminal: a bar with the rows, and what they cost and how long they take. In full words, or shorter,
 * or without what matters least, as the columns allow.
 * @param hasSymbols whether the terminal has more than letters
 */
export function batchLines(view: BatchView, columns: number, hasSymbols: boolean): string[] {
  return [barLine(view, columns, hasSymbols), fitting(costParts(view), columns)];
}

function barLine(view: BatchView, columns: number, hasSymbols: boolean): string {
  const text = fitting(rowParts(view), columns - NARROWEST_BAR - 1);
  const width = Math.min(WIDEST_BAR, columns - text.length - 1);
  if (width < NARROWEST_BAR) return text;
  const { done, left } = hasSymbols ? BAR : PLAIN_BAR;
  const full = view.rows === 0 ? width : Math.floor((view.ended / view.rows) * width);
  return `${done.repeat(full)}${left.repeat(width - full)} ${text}`;
}

/** Each part in words and in short; those that come last are left out first. */
type Part = readonly [words: string, short: string];

function rowParts({ rows, ended, running, failed }: BatchView): Part[] {
  const parts: Part[] = [[`${ended} of ${rows} rows`, `${ended}/${rows}`]];
  if (failed > 0) parts.push([`${failed} failed`, `${failed} failed`]);
  if (running > 0) parts.push([`${running} running`, `${running} run`]);
  return parts;
}

function costParts({ credits, budget, endedNow, left, elapsedMs }: BatchView): Part[] {
  const parts: Part[] = [];
  if (budget !== null) parts.push([`${credits} of ${budget} credits`, `${credits}/${budget} cr`]);
  const hasRate = endedNow > 0 && elapsedMs >= RATE_AFTER_MS;
  if (hasRate && left > 0) {
    const leftMs = rounded((elapsedMs / endedNow) * left);
    parts.push([`about ${formatDuration(leftMs)} left`, `${clock(leftMs)} left`]);
  }
  if (elapsedMs >= 1000) parts.push([inSeconds(elapsedMs), clock(elapsedMs)]);
  if (hasRate) {
    const rate = Math.max(1, Math.round((endedNow / elapsedMs) * 60_000));
    parts.push([`${rate} rows/min`, `${rate}/min`]);
  }
  return parts;
}

/** The parts in words, or in short, or in short without the last of them. */
function fitting(parts: readonly Part[], columns: number): string {
  const lengths = parts.map((_, at) => parts.length - at);
  const choices = [
    parts.map(([words]) => words),
    ...lengths.map((n) => parts.slice(0, n).map(([, short]) => short)),
  ];
  const lines = choices.map((choice) => choice.join(" · "));
  return lines.find((line) => line.length <= columns) ?? "";
}

/** Rounds to 5 s below a minute, to 10 s below ten minutes, else to a minute. */
function rounded(ms: number): number {
  const stepMs = ms < 60_000 ? 5_000 : ms < 600_000 ? 10_000 : 60_000;
  return Math.max(5_000, Math.round(ms / stepMs) * stepMs);
}

function inSeconds(ms: number): string {
  return formatDuration(Math.floor(ms / 1000) * 1000);
}

/** `1:05`, `2:03:20`. */
function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number) => String(value % 60).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  const end = two(seconds);
  return minutes < 60 ? `${minutes}:${end}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${end}`;
}
