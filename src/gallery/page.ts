import { createHash } from "node:crypto";
import style from "./page.css?raw";
import script from "./page.js?raw";

export interface PageImage {
  id: string;
  /** Relative URL. */
  file: string;
  /** Relative URL, or a data URL. */
  thumbnail: string;
  name: string;
  width: number;
  height: number;
  date: string;
  /** This field and all below are null or empty if only the image file is known. */
  prompt: string | null;
  model: string | null;
  ratio: string | null;
  quality: string | null;
  settings: Readonly<Record<string, string>>;
  credits: number | null;
  task: string | null;
  command: string | null;
}

/** Mark of a gallery page of imggen. A page with this mark is replaced without `--overwrite`. */
const GENERATOR = '<meta name="generator" content="imggen gallery">';

export function isGalleryPage(html: string): boolean {
  return html.includes(GENERATOR);
}

/** Returns the HTML. The page loads only images and runs only its own script. Prompts and file names are escaped. */
export function renderGalleryPage(title: string, images: readonly PageImage[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
${GENERATOR}
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)}</h1>
<p class="totals" role="status"></p>
<form class="filters" role="search">
<label class="search">Search<input type="search" name="search" autocomplete="off" aria-keyshortcuts="/"></label>
<label>Model<select name="model"><option value="">All</option></select></label>
<label>Ratio<select name="ratio"><option value="">All</option></select></label>
<label>Quality<select name="quality"><option value="">All</option></select></label>
<label>From<input type="date" name="from"></label>
<label>Until<input type="date" name="until"></label>
<label>Sort by<select name="order">
<option value="newest">Newest</option><option value="oldest">Oldest</option>
<option value="costliest">Highest cost</option><option value="cheapest">Lowest cost</option>
</select></label>
<button type="reset">Clear filters</button>
</form>
</header>
<main>
<p class="none quiet" hidden>No image matches the search and the filters.</p>
<ul class="grid" aria-label="Images"></ul>
<noscript>Enable JavaScript to see the images.</noscript>
</main>
<dialog aria-label="Image">
<div class="lightbox">
<img class="image" alt="">
<div class="details">
<div class="buttons">
<button type="button" class="previous" aria-keyshortcuts="ArrowLeft">Previous</button>
<button type="button" class="next" aria-keyshortcuts="ArrowRight">Next</button>
<span class="position quiet"></span>
<button type="button" class="close" aria-keyshortcuts="Escape">Close</button>
</div>
<p class="status quiet" role="status"></p>
<div class="made">
<h2>Prompt</h2>
<p class="prompt-text"></p>
<button type="button" class="copy-prompt">Copy prompt</button>
<h2>Generate again</h2>
<pre class="command-text" tabindex="0" aria-label="Command"></pre>
<button type="button" class="copy-command">Copy command</button>
</div>
<h2>Settings</h2>
<dl></dl>
</div>
</div>
</dialog>
<script type="application/json" id="images">${jsonForHtml(images)}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** Allows only local and inline images, and the style and script with these digests. */
function contentSecurityPolicy(): string {
  return [
    "default-src 'none'",
    "img-src 'self' file: data:",
    `style-src '${cspDigest(style)}'`,
    `script-src '${cspDigest(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function cspDigest(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Escapes `<`, so that a text cannot close the script element. */
function jsonForHtml(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}
