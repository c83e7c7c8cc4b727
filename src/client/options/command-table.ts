import { type Options, option } from "./option.ts";

export const MODEL_FILTER = {
  kind: option(
    "text",
    "--kind <kind>",
    "only models for this kind of request: text (text to image) or edit (image to image)",
    { choices: ["text", "text-to-image", "edit", "image-to-image"] },
  ),
  ratio: option("text", "--ratio <w:h>", "only models that support this aspect ratio", {
    suggestions: "ratio",
    agents: "Supports this aspect ratio, such as 16:9.",
  }),
  quality: option("text", "--quality <quality>", "only models that support this quality", {
    suggestions: "quality",
    agents: "Supports this quality.",
  }),
  references: option("whole", "--references <n>", "only models that support this many reference images", {
    agents: "Supports this many reference images.",
  }),
} satisfies Options;

export const LOGIN = {
  baseUrl: option("url", "--base-url <url>", "store the service's address, including /api"),
  verify: option("on", "--no-verify", "store the key without checking it at the service"),
} satisfies Options;

export const MCP = {
  output: option("folder", "-o, --output <dir>", "folder for the images (default: the current folder)"),
  maxCredits: option(
    "whole",
    "--max-credits <n>",
    "refuse to spend more than <n> credits per session (default: 20)",
  ),
  preview: option("on", "--no-preview", "return only the paths of images, without previews"),
} satisfies Options;

const port = option("whole", "--port <n>", "port on 127.0.0.1 (default: any free one)", { max: 65_535 });

export const SANDBOX = {
  port,
  latencyMs: option("duration", "--latency <duration>", "duration of a task (default: 600ms)"),
  credits: option("whole", "--credits <n>", "set the balance (default: 1000 at the first start)"),
} satisfies Options;

export const SERVE = {
  port,
  graceMs: option(
    "duration",
    "--grace <duration>",
    "how long to wait for running tasks after Ctrl-C or SIGTERM (default: 30s)",
  ),
  onceMs: option(
    "duration",
    "--once <duration>",
    "treat identical requests within this time as one request (default: only marked retries)",
  ),
  keepAliveMs: option(
    "duration",
    "--keep-alive <duration>",
    "send white space at this interval, for proxies that close idle connections; the HTTP status is then always 200 (default: never)",
  ),
} satisfies Options;

export const SHOW = {
  size: option(
    "text",
    "--size <size>",
    "maximum size: columns, such as 60, or columns and rows, such as 60x20 (default: the size of the terminal)",
  ),
  open: option("flag", "--open", "open the images with the system's viewer"),
} satisfies Options;

export const GALLERY = {
  output: option("path", "-o, --output <path>", "path of the page (default: gallery.html in the folder)"),
  inline: option("flag", "--inline", "embed the thumbnails in the page, without a folder of thumbnails"),
  overwrite: option("flag", "--overwrite", "replace a file that imggen gallery did not make"),
  open: option("flag", "--open", "open the page with the system's viewer"),
} satisfies Options;
