import { DEFAULT_MAX_CREDITS } from "../../mcp/session-budget.ts";
import { exitCodeTable } from "./exit-code-table.ts";

/** The name of the skill, and of its folder. */
export const SKILL_NAME = "imggen";

/** How the file begins. A file that begins otherwise is another skill. */
export const SKILL_HEAD = `---\nname: ${SKILL_NAME}\n`;

/** What a coding agent has to know to use imggen, as an agent skill. Its commands are run by a test. */
export function skillText(): string {
  const codes = exitCodeTable().filter(({ code }) => code < 128);
  return `${SKILL_HEAD}description: Generate or edit images (illustrations, icons, photos, textures) from a text prompt with the imggen command line. Use it when the user asks for an image file. It costs credits, so check the cost first.
---

# Generate images with imggen

imggen submits a prompt to a paid service, waits, and saves the image. It never submits a request twice by itself, and
never loses a charged image.

## Rules

1. Check the cost before you spend: \`--dry-run\` sends nothing. Tell the user what it will cost.
2. Always pass \`--reuse\` and \`--max-credits\`. With \`--reuse\` the same command again costs nothing.
3. Always pass \`--json\`: standard output is exactly one JSON document, whatever happens.
4. Never run a command again because it failed: read \`charged\` first (see below).
5. Try with \`--sandbox\`: the whole service on this machine, free, no account. Its images are placeholders.
6. Never ask for the API key, and never print it. The user stores it: \`imggen login\`.

## Steps

Choose a model. \`credits\` holds its cost by quality; \`null\` means that the cost is not documented.

\`\`\`sh
imggen models --json
imggen models --kind edit --ratio 16:9 --json
\`\`\`

Check the request and its cost. Nothing is sent, no key is needed.

\`\`\`sh
imggen generate "a red fox in the snow" --model gamma-image-2 --quality 1K --dry-run --json
\`\`\`

Generate. The image's path is \`files[0].path\`.

\`\`\`sh
imggen generate "a red fox in the snow" --model gamma-image-2 --quality 1K --max-credits 2 --reuse --output images/ --json
\`\`\`

Where your tool calls end after a minute or so, do not wait: submit, then resume. Both can be repeated at no charge.

\`\`\`sh
imggen generate "an owl at night" --model gamma-image-2 --quality 1K --max-credits 2 --reuse --output images/ --no-wait --json
imggen resume --timeout 45s --json
\`\`\`

Edit an image: \`--image\` takes the URL of a reference image; repeat it for several.

\`\`\`sh
imggen generate "the same fox at night" --model gamma-image-2 --quality 1K --image https://example.com/fox.png --dry-run --json
\`\`\`

Many images: one prompt a line, one budget. The same command again resumes, and charges only what is missing.

\`\`\`sh
printf 'a red fox\\na snow hare\\n' > prompts.txt
imggen batch prompts.txt --model gamma-image-2 --quality 1K --output images/ --max-credits 4 --json
\`\`\`

What was charged, and where the files are:

\`\`\`sh
imggen history --limit 5 --json
\`\`\`

## Read the result

Success: \`{"ok":true,"taskId":…,"status":"completed","credits":2,"charged":"yes","files":[{"path":…}],"warnings":[]}\`
Failure: \`{"ok":false,"error":{"type":…,"message":…,"hint":…,"exitCode":…},"charged":…,"resume":…}\`

- \`charged: "no"\`: nothing was spent. Correct the request, or follow \`hint\`.
- \`charged: "yes"\`: it is paid for. Run the command in \`resume\`; do not generate again.
- \`charged: "unknown"\`: it may be paid for. Tell the user, and do not submit it again by yourself.
- \`resume\`: the command that finishes the task at no charge, or null.
- Tell the user what \`warnings\` say.

| exit code | \`error.type\` | meaning |
|---|---|---|
${codes.map(({ code, types, meaning }) => `| ${code} | ${types.join(", ")} | ${meaning} |`).join("\n")}

## More

\`imggen --help --json\` describes every command and flag as one JSON document. \`imggen mcp\` serves the same over the
Model Context Protocol, at most ${DEFAULT_MAX_CREDITS} credits a session.
`;
}
