// The gallery's own script, as it stands in the page. Whatever comes from a prompt or a file becomes text, never HTML.

const images = JSON.parse(document.getElementById("images").textContent);
const grid = document.querySelector(".grid");
const dialog = document.querySelector("dialog");
const controls = document.querySelector(".filters").elements;
const find = (selector) => document.querySelector(selector);

/** The images that the filters let through, in their order. */
let shown = [];
/** The position of the one in the lightbox. */
let current = 0;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Offers each value that any image has, if there is anything to choose. */
function fillFilter(name) {
  const values = [...new Set(images.map((image) => image[name]).filter((value) => value !== null))].sort();
  for (const value of values) controls[name].append(element("option", { value, textContent: value }));
  controls[name].closest("label").hidden = values.length < 2;
}

const UNSPACED = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]/u;

/** Whether each word of a search begins a word of a text, as in imggen's own search. */
function matchesWords(search, text) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => {
    const plain = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const mayBeInside = UNSPACED.test(word) || !/^[\p{L}\p{N}]/u.test(word);
    return new RegExp(mayBeInside ? plain : `(?<![\\p{L}\\p{N}])${plain}`, "u").test(text.toLowerCase());
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
  grid.replaceChildren(...shown.map(card));
  find(".totals").textContent = totals(shown);
  find(".none").hidden = shown.length > 0 || images.length === 0;
}

/** A task's images were charged together. Those of unknown cost are counted: the sum leaves them out. */
function totals(some) {
  const costs = new Map(some.map(({ task, credits }, at) => [task ?? at, credits]));
  const credits = [...costs.values()].reduce((sum, cost) => sum + (cost ?? 0), 0);
  const count = some.length === images.length ? `${some.length}` : `${some.length} of ${images.length}`;
  const unknown = some.filter((image) => image.credits === null).length;
  const sum = creditsText(unknown > 0 && unknown === some.length ? null : credits);
  const rest = unknown > 0 && unknown < some.length ? `, ${unknown} of unknown cost` : "";
  return `${count} ${images.length === 1 ? "image" : "images"}, ${sum}${rest}`;
}

function creditsText(credits) {
  if (credits === null) return "cost unknown";
  if (credits === 0) return "free";
  return credits === 1 ? "1 credit" : `${credits} credits`;
}

function card(image, at) {
  const { prompt, name, thumbnail, model, credits, width, height, settings } = image;
  const made = model === null ? [] : [model, creditsText(credits)];
  const seed = settings.seed === undefined ? [] : [`seed ${settings.seed}`];
  const facts = [...made, image.ratio ?? `${width}×${height}`, ...seed].join(" · ");
  // With its width and height, the card has its place before the picture is there.
  const size = width > 0 && height > 0 ? { width, height } : {};
  const picture = element("img", { ...size, alt: "", loading: "lazy", decoding: "async", src: thumbnail });
  const caption = element("span", { className: "prompt", textContent: prompt ?? name });
  const detail = element("span", { className: "quiet", textContent: facts });
  const button = element("button", { type: "button", className: "card" }, picture, caption, detail);
  button.addEventListener("click", () => open(at));
  return element("li", {}, button);
}

function open(at) {
  current = at;
  fillLightbox();
  if (!dialog.open) dialog.showModal();
  history.replaceState(null, "", `#${shown[at].id}`);
}

/** Opens the image that the address names, if there is one. */
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
  const link = element("a", { href: image.file, textContent: image.name });
  const facts = { Model: image.model, Ratio: image.ratio, Quality: image.quality, ...image.settings };
  if (image.model !== null) facts.Cost = creditsText(image.credits);
  Object.assign(facts, {
    Size: `${image.width} × ${image.height}`,
    Date: localTime(image.date),
    Task: image.task,
    File: link,
    Link: element("a", { href: `#${image.id}`, textContent: "this image on this page" }),
  });
  const entries = Object.entries(facts).filter(([, value]) => value !== null);
  find("dl").replaceChildren(
    ...entries.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
  );
}

/** A command as text, its options in one piece each: a browser may break a line at any hyphen. */
function commandParts(command) {
  const parts = command.split(/(?<=\s)(--?[a-z][\w-]*)(?=\s|$)/);
  return parts.map((part, at) => (at % 2 === 0 ? part : element("span", { className: "option" }, part)));
}

/** As the date inputs have it: 2026-01-31. */
function localDay(iso) {
  return new Date(iso).toLocaleDateString("sv-SE");
}

function localTime(iso) {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Goes to another image, around the ends. */
function step(by) {
  open((current + by + shown.length) % shown.length);
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
    // A page opened from a disk may not use the clipboard; selected text can still be copied.
    const focused = document.activeElement;
    const field = element("textarea", { value: text, readOnly: true });
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
  const by = Object.hasOwn(steps, event.key) ? steps[event.key] : 0;
  if (by === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  step(by);
});
update();
openAddressed();
