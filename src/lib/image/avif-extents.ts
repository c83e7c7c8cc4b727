import { type Box, firstBox } from "./boxes.ts";
import type { ByteWindow } from "./byte-window.ts";

/** Room for tens of thousands of items. A longer table is not read, as if it were missing. */
const LONGEST_TABLE_BYTES = 1024 * 1024;

/**
 * Where the coded data of an AVIF image ends, from its table of locations (`iloc`): a position in bytes, 0 without such
 * a table.
 */
export async function dataEnd(file: ByteWindow, meta: Box): Promise<number> {
  const box = await firstBox(file, meta.body + 4, meta.end, "iloc");
  if (box === null || box.end - box.body > LONGEST_TABLE_BYTES) return 0;
  const table = await file.bytes(box.body, box.end - box.body);
  return table === null ? 0 : furthestExtent(new Fields(table));
}

function furthestExtent(fields: Fields): number {
  const version = fields.next(4) >>> 24;
  const sizes = fields.next(2);
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >>> 12, (sizes >>> 8) & 15, (sizes >>> 4) & 15];
  const indexBytes = version === 0 ? 0 : sizes & 15;
  const idBytes = version < 2 ? 2 : 4;

  let furthest = 0;
  for (let items = fields.next(idBytes); items > 0 && !fields.done; items -= 1) {
    fields.next(idBytes);
    const method = version === 0 ? 0 : fields.next(2) & 15;
    const isElsewhere = fields.next(2) !== 0;
    const base = fields.next(baseBytes);
    for (let extents = fields.next(2); extents > 0 && !fields.done; extents -= 1) {
      fields.next(indexBytes);
      const end = base + fields.next(offsetBytes) + fields.next(lengthBytes);
      // Other methods count from inside `meta`, which is in the file already.
      if (method === 0 && !isElsewhere) furthest = Math.max(furthest, end);
    }
  }
  return furthest;
}

/** Big-endian numbers one after another; zero past the end. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  next(width: number): number {
    const field = this.#bytes.subarray(this.#at, this.#at + width);
    this.#at += width;
    return field.length < width ? 0 : field.reduce((value, byte) => value * 256 + byte, 0);
  }
}
