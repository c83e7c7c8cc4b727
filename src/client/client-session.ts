import type { HttpClientOptions } from "../api/http-client.ts";
import type { Cap } from "../core/limits/caps.ts";
import type { Vocabulary } from "../lib/wording.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { SandboxNotice } from "../sandbox/server.ts";
import { Ledger } from "../store/ledger.ts";
import type { EffectiveSettings } from "./effective-settings.ts";
import type { Profile } from "./profiles.ts";
import type { ProcessContext } from "./this-process.ts";
import type { Folders } from "./user-folders.ts";

export interface ClientSession {
  readonly context: ProcessContext;
  readonly folders: Folders;
  readonly settings: EffectiveSettings;
  readonly profile?: Profile | null;
  /** Names of options and commands in messages. */
  readonly words: Vocabulary;
  /** Whether the embedded sandbox replaces the configured service. */
  readonly isSandbox: boolean;
  /** Defaults from config.json. Absent if settings do not apply to the session's requests. */
  readonly savedFields?: SavedFields | undefined;
  /** Cost limits, checked before each submit of a paid request. */
  readonly caps?: readonly Cap[] | undefined;
  readonly onSandboxNotice?: ((notice: SandboxNotice) => void) | undefined;
  readonly onExchange?: HttpClientOptions["onExchange"] | undefined;
}

/** This function is separate from `Workspace`, so that commands that only read the ledger do not load connections. */
export function openLedger({ folders, context }: Pick<ClientSession, "folders" | "context">): Ledger {
  return new Ledger(folders.state, context.clock, context.processes);
}
