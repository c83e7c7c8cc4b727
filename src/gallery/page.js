// The gallery's script. Texts from prompts and files are inserted as text, never as HTML.

const images = JSON.parse(document.getElementById("images").textContent);
const grid = document.querySelector(".grid");
const dialog = document.querySelector("dialog");
const controls = document.querySelector(".filters").elements;
const find = (selector) => document.querySelector(selector);

/** Images that match the filters, sorted. */
let shown = [];
/** Index of the image in the lightbox. */
let current = 0;

function createElement(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

/** Adds an option for each value. Hides the filter if all images have the same value. */
function fillFilter(name) {
  const values = [...new Set(images.map((image) => image[name]).filter((value) => value !== null))].sort();
  for (const value of values) controls[name].append(createElement("option", { value, textContent: value }));
  controls[name].closest("label").hidden = values.length < 2;
}

const UNSPACED = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u;

/** Whether each search word is the start of a word in the text, as in `imggen history --search`. */
function matchesWords(search, text) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => {
    const escapedWord = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const mayBeInside = UNSPACED.test(word) || !/^[\p{L}\p{N}]/u.test(word);
    return new RegExp(mayBeInside ? escapedWord : `(?<![\\p{L}\\p{N}])${escapedWord}`, "u").test(
      text.toLowerCase(),
    );
  });
}

function matches(image) {
  const day = localDay(image.date);
  return (
    matchesWords(controls.search.value, `${image.prompt ?? ""} ${image.name} ${image.settings.seed ?? ""}`) &&
    ["model", "ratio", "quality"].every((name) => ["", image[name]].includes(controls[name].value)) &&
    (controls.from.value === "" || day >= controls.from.value) &&
    (controls.until.value === "" || day <= controls.until.value)
  );
}

const newestFirst = (a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : 0);
const ORDERS = {
  newest: newestFirst,
  oldest: (a, b) => -newestFirst(a, b),
  costliest: (a, b) => (b.credits ?? -1) - (a.credits ?? -1) || newestFirst(a, b),
  cheapest: (a, b) =>
    (a.credits ?? Number.POSITIVE_INFINITY) - (b.credits ?? Number.POSITIVE_INFINITY) || newestFirst(a, b),
};

function update() {
  shown = images.filter(matches).sort(ORDERS[controls.order.value]);
  grid.replaceChildren(...shown.map(createCard));
  find(".totals").textContent = totalsText(shown);
  find(".none").hidden = shown.length > 0 || images.length === 0;
}

/** Counts the cost of a task once, because its images were charged together. Unknown costs are counted separately. */
function totalsText(matchingImages) {
  const costs = new Map(matchingImages.map(({ task, credits }, at) => [task ?? at, credits]));
  const credits = [...costs.values()].reduce((sum, cost) => sum + (cost ?? 0), 0);
  const count =
    matchingImages.length === images.length
      ? `${matchingImages.length}`
      : `${matchingImages.length} of ${images.length}`;
  const unknown = matchingImages.filter((image) => image.credits === null).length;
  const sum = creditsText(unknown > 0 && unknown === matchingImages.length ? null : credits);
  const rest = unknown > 0 && unknown < matchingImages.length ? `, ${unknown} of unknown cost` : "";
  return `${count} ${images.length === 1 ? "image" : "images"}, ${sum}${rest}`;
}

function creditsText(credits) {
  if (credits === null) return "cost unknown";
  if (credits === 0) return "free";
  return credits === 1 ? "1 credit" : `${credits} credits`;
}

function createCard(image, at) {
  const { prompt, name, thumbnail, model, credits, width, height, settings } = image;
  const modelFacts = model === null ? [] : [model, creditsText(credits)];
  const seed = settings.seed === undefined ? [] : [`seed ${settings.seed}`];
  const facts = [...modelFacts, image.ratio ?? `${width}×${height}`, ...seed].join(" · ");
  // Width and height set the size of the card before the image is loaded.
  const size = width > 0 && height > 0 ? { width, height } : {};
  const picture = createElement("img", {
    ...size,
    alt: "",
    loading: "lazy",
    decoding: "async",
    src: thumbnail,
  });
  const caption = createElement("span", { className: "prompt", textContent: prompt ?? name });
  const detail = createElement("span", { className: "quiet", textContent: facts });
  const button = createElement("button", { type: "button", className: "card" }, picture, caption, detail);
  button.addEventListener("click", () => open(at));
  return createElement("li", {}, button);
}

function open(at) {
  current = at;
  fillLightbox();
  if (!dialog.open) dialog.showModal();
  history.replaceState(null, "", `#${shown[at].id}`);
}

/** Opens the image whose id is in the page's address, if any. */
function openAddressed() {
  const id = location.hash.slice(1);
  if (id === "") return;
  if (!shown.some((image) => image.id === id)) {
    find(".filters").reset();
    update();
  }
  const at = shown.findIndex((image) => image.id === id);
  if (at !== -1) open(at);
}

function fillLightbox() {
  const image = shown[current];
  const picture = find(".image");
  picture.src = image.file;
  picture.alt = image.prompt ?? image.name;
  find(".position").textContent = `${current + 1} of ${shown.length}`;
  find(".prompt-text").textContent = image.prompt ?? "";
  find(".command-text").replaceChildren(...commandParts(image.command ?? ""));
  find(".made").hidden = image.prompt === null;
  find(".status").textContent = "";
  const link = createElement("a", { href: image.file, textContent: image.name });
  const facts = { Model: image.model, Ratio: image.ratio, Quality: image.quality, ...image.settings };
  if (image.model !== null) facts.Cost = creditsText(image.credits);
  Object.assign(facts, {
    Size: `${image.width} × ${image.height}`,
    Date: localTime(image.date),
    Task: image.task,
    File: link,
    Link: createElement("a", { href: `#${image.id}`, textContent: "this image on this page" }),
  });
  const entries = Object.entries(facts).filter(([, value]) => value !== null);
  find("dl").replaceChildren(
    ...entries.flatMap(([name, value]) => [createElement("dt", {}, name), createElement("dd", {}, value)]),
  );
}

/** Wraps each option in an element without line breaks, because a browser can break a line at any hyphen. */
function commandParts(command) {
  const parts = command.split(/(?<=\s)(--?[a-z][\w-]*)(?=\s|$)/);
  return parts.map((part, at) =>
    at % 2 === 0 ? part : createElement("span", { className: "option" }, part),
  );
}

/** Returns the local day in the format of date inputs: 2026-01-31. */
function localDay(iso) {
  return new Date(iso).toLocaleDateString("sv-SE");
}

function localTime(iso) {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Shows another image. The first image follows the last image. */
function step(offset) {
  open((current + offset + shown.length) % shown.length);
}

async function copy(text, what) {
  const isCopied = await putOnClipboard(text);
  find(".status").textContent = isCopied ? `Copied the ${what}.` : `The ${what} could not be copied.`;
}

async function putOnClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that was opened from a disk cannot use the clipboard, but it can copy selected text.
    const focused = document.activeElement;
    const field = createElement("textarea", { value: text, readOnly: true });
    dialog.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    focused.focus();
    return isCopied;
  }
}

for (const name of ["model", "ratio", "quality"]) fillFilter(name);
find(".filters").addEventListener("input", update);
find(".filters").addEventListener("submit", (event) => event.preventDefault());
find(".filters").addEventListener("reset", () => setTimeout(update));
find(".previous").addEventListener("click", () => step(-1));
find(".next").addEventListener("click", () => step(1));
find(".close").addEventListener("click", () => dialog.close());
find(".copy-prompt").addEventListener("click", () => copy(shown[current].prompt, "prompt"));
find(".copy-command").addEventListener("click", () => copy(shown[current].command, "command"));
dialog.addEventListener("close", () => {
  history.replaceState(null, "", location.pathname + location.search);
  grid.children[current]?.firstElementChild.focus();
});
addEventListener("hashchange", openAddressed);
addEventListener("keydown", (event) => {
  const isTyped = /^(?:INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key !== "/" || isTyped || dialog.open || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  controls.search.focus();
});
dialog.addEventListener("click", ({ target }) => {
  if (target === dialog) dialog.close();
});
dialog.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -current, End: shown.length - 1 - current };
  const offset = Object.hasOwn(steps, event.key) ? steps[event.key] : 0;
  if (offset === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  step(offset);
});
update();
openAddressed();
