/** The longest line that is read, in bytes. */
const LONGEST_BYTES = 10 * 1024 * 1024;

/** Enough of a longer line's end to hold the id of its request. */
const KEPT_BYTES = 1024;

/** A line, or the two ends of one that is too long to be read. */
type MessageLine = { text: string } | { start: string; end: string };

/** Splits what arrives into lines. One that is too long takes no memory, and ends nothing. */
export async function* messageLines(input: AsyncIterable<Buffer | string>): AsyncGenerator<MessageLine> {
  let line = new ArrivingLine();
  for await (const chunk of input) {
    let rest = Buffer.from(chunk);
    for (let at = rest.indexOf("\n"); at !== -1; at = rest.indexOf("\n")) {
      line.add(rest.subarray(0, at));
      yield line.read();
      line = new ArrivingLine();
      rest = rest.subarray(at + 1);
    }
    line.add(rest);
  }
}

class ArrivingLine {
  #start: string | null = null;
  #parts: Buffer[] = [];
  #bytes = 0;

  add(part: Buffer): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes <= LONGEST_BYTES) return;
    const whole = Buffer.concat(this.#parts);
    this.#start ??= whole.toString("utf8", 0, KEPT_BYTES);
    this.#parts = [Buffer.from(whole.subarray(-KEPT_BYTES))];
  }

  read(): MessageLine {
    const text = Buffer.concat(this.#parts).toString("utf8");
    return this.#start === null ? { text } : { start: this.#start, end: text };
  }
}

const VALUE = String.raw`(\d{1,15}|"[^"\\]{0,200}")`;
const FIRST = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*${VALUE}\s*,`);
const LAST = new RegExp(String.raw`,\s*"id"\s*:\s*${VALUE}\s*\}\s*$`);

/** The id of a request of which only the ends are known, where it is at one of them; else null. */
export function idAtEnds({ start, end }: { start: string; end: string }): string | number | null {
  const value = (FIRST.exec(start) ?? LAST.exec(end))?.[1];
  return value === undefined ? null : JSON.parse(value);
}
