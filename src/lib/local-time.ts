const UNIT_MS = { m: 60_000, h: 3_600_000, d: 24 * 3_600_000, w: 7 * 24 * 3_600_000 };

/** `2026-01-31` */
export function localDay(date: Date): string {
  const [year, month, day] = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return [String(year).padStart(4, "0"), twoDigits(month), twoDigits(day)].join("-");
}

/** `2026-01-31 12:05` */
export function localMinute(date: Date): string {
  return `${localDay(date)} ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

/** Formats an age in at most ten characters: `now`, `12 min ago`, `5 h ago`, `3 d ago`; the date after a week. */
export function formatAge(date: Date, nowMs: number): string {
  const age = nowMs - date.getTime();
  const whole = (unit: number) => Math.floor(age / unit);
  if (age < 0 || age >= UNIT_MS.w) return localDay(date);
  if (age < UNIT_MS.m) return "now";
  if (age < UNIT_MS.h) return `${whole(UNIT_MS.m)} min ago`;
  return age < UNIT_MS.d ? `${whole(UNIT_MS.h)} h ago` : `${whole(UNIT_MS.d)} d ago`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/** Parses an age (`30m`, `2w`), a day or a time, local without a time zone, to milliseconds since the epoch. */
export function parseSince(text: string, nowMs: number): number | null {
  const daysAgo = ["today", "yesterday"].indexOf(text.toLowerCase());
  if (daysAgo !== -1) {
    const midnight = new Date(nowMs);
    return midnight.setHours(-24 * daysAgo, 0, 0, 0);
  }
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  const [, day, time = "T00:00"] =
    /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  if (day === undefined || !isCalendarDay(day)) return null;
  const ms = Date.parse(`${day}${time.replace(" ", "T")}`);
  return Number.isNaN(ms) ? null : ms;
}

/** Whether a day exists. The check is necessary, because `Date` accepts 31 February. */
function isCalendarDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
