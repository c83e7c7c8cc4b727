const MS = { m: 60_000, h: 3_600_000, d: 24 * 3_600_000, w: 7 * 24 * 3_600_000 };
const UNITS_MS: Readonly<Record<string, number>> = MS;

/** A day as the clock on the wall has it: `2026-01-31`. */
export function localDay(date: Date): string {
  const [year, month, day] = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return [String(year).padStart(4, "0"), twoDigits(month), twoDigits(day)].join("-");
}

/** A minute as the clock on the wall has it: `2026-01-31 12:05`. */
export function localMinute(date: Date): string {
  return `${localDay(date)} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

/** How long ago a moment was, in at most ten characters: `now`, `12 min ago`, `5 h ago`, `3 d ago`, then the day. */
export function ageText(date: Date, nowMs: number): string {
  const age = nowMs - date.getTime();
  const whole = (unit: number) => Math.floor(age / unit);
  // The clock has been set back since.
  if (age < 0 || age >= MOST_DAYS * MS.d) return localDay(date);
  if (age < MS.m) return "now";
  if (age < MS.h) return `${whole(MS.m)} min ago`;
  return age < MS.d ? `${whole(MS.h)} h ago` : `${whole(MS.d)} d ago`;
}

const MOST_DAYS = 7;

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/**
 * The moment that `--since` names: an age (`30m`, `12h`, `7d`, `2w`), a day, or a time as
 * `2026-01-31T12:05`; without a zone, here.
 * @returns milliseconds since the epoch, or null for anything else
 */
export function parseSince(text: string, nowMs: number): number | null {
  const [, count, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (UNITS_MS[unit] ?? 0);
  const [, day, time = "T00:00"] =
    /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  if (day === undefined || !isOfCalendar(day)) return null;
  const ms = Date.parse(`${day}${time.replace(" ", "T")}`);
  return Number.isNaN(ms) ? null : ms;
}

/** Whether a day is in the calendar: to `Date`, February has 31 days. */
function isOfCalendar(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
