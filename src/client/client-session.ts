import type { HttpClientOptions } from "../api/http-client.ts";
import type { Cap } from "../core/limits/caps.ts";
import type { Words } from "../lib/wording.ts";
import { Ledger } from "../store/ledger.ts";
import type { EffectiveSettings } from "./effective-settings.ts";
import type { ProcessContext } from "./this-process.ts";
import type { Folders } from "./user-folders.ts";

/** What a client works with: a command's session, or what a program that uses the package has given it. */
export interface ClientSession {
  readonly context: ProcessContext;
  readonly folders: Folders;
  readonly settings: EffectiveSettings;
  /** How messages name options. */
  readonly words: Words;
  /** Whether the embedded sandbox takes the place of the configured service. */
  readonly isSandbox: boolean;
  /** Limits of the whole session, asked before each submit of a paid request. */
  readonly caps?: readonly Cap[] | undefined;
  /** Called when the embedded sandbox had too few credits left. @param credits its new balance */
  onRefill?(credits: number): void;
  /** Called with a directive in a prompt, `[sandbox:…]`, that the embedded sandbox does not know. */
  readonly onUnknownDirective?: ((directive: string) => void) | undefined;
  /** Called with the main noun of a prompt that the embedded sandbox paints without it. */
  readonly onUnknownSubject?: ((noun: string) => void) | undefined;
  /** Called after every exchange with the service. */
  readonly onExchange?: HttpClientOptions["onExchange"] | undefined;
}

/** The ledger of this machine. Apart from the connections, so that what only reads it does not load them. */
export function openLedger({ folders, context }: Pick<ClientSession, "folders" | "context">): Ledger {
  return new Ledger(folders.state, context.clock, context.processes);
}
