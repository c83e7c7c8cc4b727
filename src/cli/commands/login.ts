import type { Command } from "commander";
import { checkApiKey, checkBaseUrl, requireBaseUrl } from "../../client/account.ts";
import { UsageError } from "../../lib/error-types.ts";
import { maskKey } from "../../lib/redact.ts";
import type { RunWith } from "../app/command.ts";
import type { Session } from "../app/session.ts";
import { canAsk } from "../input/confirm.ts";
import { readLine } from "../input/read-line.ts";

interface LoginOptions {
  baseUrl?: string;
  verify: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen login --base-url https://example.com/api
  $ printenv IMGGEN_API_KEY | imggen login
  $ imggen login --profile work --base-url https://example.com/api
  $ imggen login --no-verify`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description(
      "Store the API key and the base URL.\n" +
        "Asks for the key without showing it, or reads one line from standard input.\n" +
        "There is no flag for the key, because other users can see a program's arguments.",
    )
    .option("--base-url <url>", "store the service's address, its /api included")
    .option("--no-verify", "store the key without asking the service about it")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runLogin));
}

async function runLogin(session: Session, options: LoginOptions): Promise<number> {
  if (session.options.sandbox) {
    throw new UsageError("The sandbox needs no login.", { hint: "Omit --sandbox to store a key." });
  }
  const { baseUrl, isNew } = await baseUrlOf(options, session);
  // A damaged settings file is reported before a key is typed.
  const store = await session.settingsStore();
  await store.read();
  const apiKey = checkApiKey((await askKey(baseUrl, session)).trim(), "This");
  const verified = options.verify && baseUrl !== null;
  if (verified) {
    const { verifyKey } = await import("../account/verify-key.ts");
    await verifyKey(baseUrl, apiKey, session);
    if (!session.options.json) await session.console.note(`Key accepted by ${new URL(baseUrl).host}.`);
  }
  const changes = isNew && baseUrl !== null ? { baseUrl } : {};
  await store.update({ apiKey, apiKeyBaseUrl: baseUrl ?? undefined, ...changes });
  if (session.options.json) {
    await session.json({
      ok: true,
      apiKey: maskKey(apiKey),
      baseUrl,
      verified,
      file: store.file,
    });
  } else {
    await session.console.note(`Stored ${maskKey(apiKey)} in ${store.file}`);
  }
  return 0;
}

/** Where the key will be checked; null only where it is not. @throws UsageError */
async function baseUrlOf(
  options: LoginOptions,
  session: Session,
): Promise<{ baseUrl: string | null; isNew: boolean }> {
  if (options.baseUrl !== undefined)
    return { baseUrl: checkBaseUrl(options.baseUrl, "--base-url"), isNew: true };
  const setting = await session.settings.get("baseUrl");
  if (setting) return { baseUrl: requireBaseUrl(setting), isNew: false };
  if (!options.verify) return { baseUrl: null, isNew: false };
  const answer = canAsk(session) ? (await session.context.ask("Base URL of the service: ")).trim() : "";
  session.context.signal.throwIfAborted();
  if (answer === "") return { baseUrl: requireBaseUrl(undefined), isNew: false };
  return { baseUrl: checkBaseUrl(answer, "The base URL"), isNew: true };
}

async function askKey(baseUrl: string | null, session: Session): Promise<string> {
  const { context } = session;
  const question = baseUrl === null ? "API key: " : `API key for ${new URL(baseUrl).host}: `;
  const key = context.stdin.isTTY ? await context.askHidden(question) : await readLine(context);
  context.signal.throwIfAborted();
  if (key.trim() === "") throw new UsageError("No key was given.", { hint: "Nothing was stored." });
  return key;
}
