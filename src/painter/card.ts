import type { Brief } from "./brief.ts";
import { hexes, mix, type Point, type Shape } from "./brush.ts";
import { BLACK, CREAM, rectangle } from "./drawing.ts";
import { COLORS } from "./moods.ts";

/** A card in a colour of the prompt, with its words as large as there is room for. */
export function card(brief: Brief): Shape[] {
  const { width, height, prompt, model, index, colors, random } = brief;
  const color = colors[0] ?? hexes(random("card").pick(["d23b2f", ...Object.keys(COLORS)]))[0];
  const ink = color[0] + color[1] + color[2] > 400 ? mix(color, BLACK, 0.8) : CREAM;
  const margin = 0.06 * Math.min(width, height);
  const [left, inner] = [2 * margin, width - 4 * margin];
  const [dot, lines] = fitted(prompt, inner, height * 0.45);
  const facts = `${model}  ${width}x${height}  #${index + 1}  imggen sandbox`;
  const small = Math.min(inner / 6 / facts.length, margin / 18);
  const tall = LINE * (lines.length * dot + 1.6 * small);
  const top = height - 1.6 * margin - tall;
  const box = [rectangle(margin, top - margin, width - 2 * margin, height - top)];
  const text = lines.flatMap((line, i) => written(line, left, top + i * LINE * dot, dot));
  return [
    { outline: box, colors: [color], opacity: 0.94 },
    { outline: text, colors: [ink], opacity: 1 },
    { outline: written(facts, left, top + tall - LINE * small, small), colors: [ink], opacity: 0.75 },
  ];
}

/** The text in lines that fit, with the size of a dot; no lines if the font lacks its letters. */
function fitted(prompt: string, width: number, height: number): [dot: number, lines: string[]] {
  const plain = prompt.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[‘’]/g, "'").replace(/[“”]/g, '"');
  if (/[^\P{L}a-z]/iu.test(plain)) return [0, []];
  const text = plain.replace(/\p{Pd}/gu, "-").replace(/[^!-~]+/g, " ");
  for (let columns = 12; ; columns += 6) {
    const lines = text.match(new RegExp(`\\S.{0,${columns - 1}}(?= |$)|\\S{${columns}}`, "g")) ?? [];
    const dot = width / columns / 6;
    const room = Math.max(1, Math.floor(height / LINE / dot));
    if (lines.length <= room || columns > 60) return [dot, lines.slice(0, room)];
  }
}

/** Height of a line, in dots. */
const LINE = 10;

function written(text: string, left: number, top: number, dot: number): Point[][] {
  const at = (column: number) => FONT[(text.charCodeAt(Math.floor(column / 6)) - 32) * 5 + (column % 6)] ?? 0;
  const isDot = (column: number, row: number) => column % 6 < 5 && ((at(column) >> row) & 1) === 1;
  return Array.from({ length: text.length * 6 * 8 }, (_, i): [number, number] => [i >> 3, i & 7])
    .filter(([column, row]) => isDot(column, row))
    .map(([column, row]) => rectangle(left + column * dot, top + row * dot, dot, dot));
}

/** The printable characters of ASCII, each as five columns of eight dots. */
const FONT = Buffer.from(
  `AAAAAAAAAF8AAAADAAMAFH8UfxQkKn8qEiMTCGRiNklWIFAAAAMAAAAcIkEAAEEiHAAIKhwqCAgIPggIAIBgAAAICAgICAAAQAAAYBAIBAM
+UUlFPgBCf0AAYlFJSUYiQUlJNhgUEn8QJ0VFRTk+SUlJMAFxCQUDNklJSTYGSUlJPgAAIgAAAIBiAAAACBQiQRQUFBQUQSIUCAACAVkJBj
5BXVUefgkJCX5/SUlJNj5BQUEif0FBQT5/SUlJQX8JCQkBPkFJSTp/CAgIfwBBf0EAIEBBPwF/CBQiQX9AQEBAfwIMAn9/AgQIfz5BQUE+f
wkJCQY+QVEhXn8JGSlGRklJSTEBAX8BAT9AQEA/HyBAIB9/IBggf2MUCBRjAwR4BANhUUlFQwB/QUEAAwQIEGAAQUF/AAQCAQIEQEBAQEAA
AQIAACBUVFR4f0RERDg4REREIDhERER/OFRUVBgIfgkBAhikpKR8fwQEBHgARH1AAECAhH0AfxAoRAAAQX9AAHwEOAR4fAQEBHg4REREOPw
kJCQYGCQkJPx8CAQECEhUVFQkBD9EQCA8QEBAfBwgQCAcPEAwQDxEKBAoRBygoKB8RGRUTEQACDZBQQAAfwAAQUE2CAAIBAgQCA==`,
  "base64",
);
