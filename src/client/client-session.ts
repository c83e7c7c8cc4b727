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

/** Context, folders and settings of a client: of a command, or of a program that uses the package. */
export interface ClientSession {
  readonly context: ProcessContext;
  readonly folders: Folders;
  readonly settings: EffectiveSettings;
  /** Profile of the settings; null or absent for the default settings. */
  readonly profile?: Profile | null;
  /** Names of options and commands in messages. */
  readonly words: Vocabulary;
  /** Whether the embedded sandbox takes the place of the configured service. */
  readonly isSandbox: boolean;
  /** Defaults from config.json for request fields; absent if settings do not apply to its requests. */
  readonly savedFields?: SavedFields | undefined;
  /** Limits of the whole session, checked before each submit of a paid request. */
  readonly caps?: readonly Cap[] | undefined;
  /** Called with notices of the embedded sandbox for the user. */
  readonly onSandboxNotice?: ((notice: SandboxNotice) => void) | undefined;
  /** Called after every exchange with the service. */
  readonly onExchange?: HttpClientOptions["onExchange"] | undefined;
}

/** The ledger of this machine. Separate from connections, so that commands that only read it do not load them. */
export function openLedger({ folders, context }: Pick<ClientSession, "folders" | "context">): Ledger {
  return new Ledger(folders.state, context.clock, context.processes);
}
