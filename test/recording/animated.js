const CHARACTER = 8.4;
const LINE = 19;
const MARGIN = 16;
const BAR = 34;

const STYLE = `
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:#d7dce2;white-space:pre}
.dim{opacity:.55}.green{fill:#7ee787}.yellow{fill:#e3b341}.cyan{fill:#76e3ea}.red{fill:#ff7b72}.prompt{fill:#8b949e}`;

/**
 * An animated SVG of a terminal, which repeats. A reader who wants no motion sees its last frame.
 * @param frames `lines` as the terminal has them, `ms` for how long
 * @param caption what is seen, for those who cannot see it
 */
export function animated(frames, columns, caption) {
  const shown = frames.map(({ lines }) => lines);
  const starts = frames.map((_, at) => sum(frames.slice(0, at)));
  const total = sum(frames);
  const rows = Math.max(...shown.map((lines) => lines.length));
  const [width, height] = [columns * CHARACTER + 2 * MARGIN, rows * LINE + MARGIN + BAR];
  const percent = (at) => `${Number((((starts[at] ?? total) / total) * 100).toFixed(3))}%`;
  const spans = spansOf(shown, rows);
  const timed = spans.filter(({ from, to }) => from > 0 || to < frames.length);
  const times = new Map(timed.map(({ from, to }) => [`${from}-${to}`, { from, to }]));
  const rules = [...times].map(([name, { from, to }]) => {
    const before = from > 0 ? "0%{visibility:hidden}" : "";
    const after = to < frames.length ? `${percent(to)}{visibility:hidden}` : "";
    return `@keyframes t${name}{${before}${percent(from)}{visibility:visible}${after}}.t${name}{animation:t${name} ${total}ms step-end infinite}`;
  });
  const gone = timed.filter(({ to }) => to < frames.length).map(({ from, to }) => `.t${from}-${to}`);
  const texts = spans.map(({ row, from, to, line }) => {
    const isAlways = from === 0 && to === frames.length;
    return `<g${isAlways ? "" : ` class="t${from}-${to}"`}>${lineOf(line, row)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">imggen in a terminal</title>
<desc id="description">${escaped(caption)}</desc>
<style>${STYLE}
${[...new Set(gone)].join()}{visibility:hidden}
@media (prefers-reduced-motion:no-preference){
${rules.join("\n")}
}</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="#161b22" stroke="#6e7681"/>
<circle cx="20" cy="17" r="5" fill="#ff5f57"/><circle cx="38" cy="17" r="5" fill="#febc2e"/><circle cx="56" cy="17" r="5" fill="#28c840"/>
${texts.join("\n")}
</svg>
`;
}

const sum = (frames) => frames.reduce((all, { ms }) => all + ms, 0);

/** Each line with the frames that it stays the same in, from the first to the one after the last. */
function spansOf(shown, rows) {
  const spans = [];
  for (let row = 0; row < rows; row++) {
    let open = null;
    for (const [at, lines] of shown.entries()) {
      const line = lines[row] ?? [];
      const key = JSON.stringify(line);
      if (open?.key !== key) {
        open = { key, line, row, from: at, to: at };
        spans.push(open);
      }
      open.to = at + 1;
    }
  }
  return spans.filter(({ line }) => line.some(({ text }) => text.trim() !== ""));
}

/** The pieces of a line, each as wide as its characters are in a terminal, whatever the font. */
function lineOf(line, row) {
  let column = 0;
  const y = BAR + row * LINE + 14;
  return line
    .map(({ text, style }) => {
      const from = column;
      column += [...text].length;
      const x = Number((MARGIN + from * CHARACTER).toFixed(1));
      const length = Number(([...text].length * CHARACTER).toFixed(1));
      const named = style === "" ? "" : ` class="${style}"`;
      return `<text${named} x="${x}" y="${y}" textLength="${length}" xml:space="preserve">${escaped(text)}</text>`;
    })
    .join("");
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
