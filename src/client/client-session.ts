import type { HttpClientOptions } from "../api/http-client.ts";
import type { Cap } from "../core/limits/caps.ts";
import type { Words } from "../lib/wording.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { SandboxNotice } from "../sandbox/server.ts";
import { Ledger } from "../store/ledger.ts";
import type { EffectiveSettings } from "./effective-settings.ts";
import type { Profile } from "./profiles.ts";
import type { ProcessContext } from "./this-process.ts";
import type { Folders } from "./user-folders.ts";

/** What a client works with: a command's session, or what a program that uses the package has given it. */
export interface ClientSession {
  readonly context: ProcessContext;
  readonly folders: Folders;
  readonly settings: EffectiveSettings;
  /** The profile of the settings; null or absent for those without a name. */
  readonly profile?: Profile | null;
  /** How messages name options. */
  readonly words: Words;
  /** Whether the embedded sandbox takes the place of the configured service. */
  readonly isSandbox: boolean;
  /** Values of config.json for what a request leaves open; absent: settings are not for its requests. */
  readonly saved?: SavedFields | undefined;
  /** Limits of the whole session, asked before each submit of a paid request. */
  readonly caps?: readonly Cap[] | undefined;
  /** Called with what the user of the embedded sandbox should know. */
  readonly onSandboxNotice?: ((notice: SandboxNotice) => void) | undefined;
  /** Called after every exchange with the service. */
  readonly onExchange?: HttpClientOptions["onExchange"] | undefined;
}

/** The ledger of this machine. Apart from the connections, so that what only reads it does not load them. */
export function openLedger({ folders, context }: Pick<ClientSession, "folders" | "context">): Ledger {
  return new Ledger(folders.state, context.clock, context.processes);
}
