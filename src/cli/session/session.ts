import type { ClientSession } from "../../client/client-session.ts";
import {
  EffectiveSettings,
  generatorSettings,
  openSettingsStore,
  storedSettings,
} from "../../client/effective-settings.ts";
import type { GENERATOR, GLOBAL } from "../../client/options/global-options.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { addProfileFlag, type Profile, profileFolder, requireProfile } from "../../client/profiles.ts";
import { type Folders, userFolders } from "../../client/user-folders.ts";
import { formatDuration } from "../../lib/duration.ts";
import { redactUrl } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { COMMAND_VOCABULARY } from "../../lib/wording.ts";
import type { SandboxNotice } from "../../sandbox/server.ts";
import type { SettingsStore } from "../../store/settings-store.ts";
import type { Console } from "../text/console.ts";
import type { Context } from "./context.ts";

/** Without the flags of the console, because it is created before the command line is parsed. */
export type GlobalOptions = FlagsOf<Omit<typeof GLOBAL, "quiet" | "color">> & FlagsOf<typeof GENERATOR>;

export class Session implements ClientSession {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly console: Console;
  readonly settings: EffectiveSettings;
  readonly words = COMMAND_VOCABULARY;

  readonly #argv: readonly string[];
  #folders: Folders | undefined;
  #hasNotedSubject = false;

  constructor(context: Context, console: Console, options: GlobalOptions, argv: readonly string[]) {
    this.context = context;
    this.console = console;
    this.options = options;
    this.#argv = argv;
    const read = () => {
      this.requireProfile();
      return storedSettings(this.#settingsFolder);
    };
    this.settings = new EffectiveSettings(context.env, read, generatorSettings(options), this.isSandbox);
  }

  /** The profile in use and its source; null for the default settings. */
  get profile(): Profile | null {
    const { options, context } = this;
    if (options.profile !== undefined) return { name: options.profile, source: "flag", label: "--profile" };
    const name = context.env.IMGGEN_PROFILE;
    return name ? { name, source: "environment", label: "IMGGEN_PROFILE" } : null;
  }

  get #settingsFolder(): string {
    const { profile, folders } = this;
    return profile === null ? folders.config : profileFolder(folders.config, profile.name, profile.label);
  }

  /** @throws UsageError if the profile in use does not exist */
  requireProfile(): void {
    if (this.profile !== null) requireProfile(this.folders.config, this.profile.name, this.profile.label);
  }

  /** @throws UsageError as `userFolders` */
  get folders(): Folders {
    this.#folders ??= userFolders(this.context);
    return this.#folders;
  }

  inProfile(command: string): string {
    return addProfileFlag(command, this);
  }

  /** The current command line, quoted for a shell. @param flag flag to add unless it is present */
  commandLine(flag?: string, omittedFlags: readonly string[] = []): string {
    const { flags, rest } = this.#words;
    const remainingFlags = flags.filter((word) => word === flag || !omittedFlags.includes(word));
    if (flag !== undefined && !remainingFlags.includes(flag)) remainingFlags.push(flag);
    return ["imggen", ...remainingFlags, ...rest].map((word) => shellWord(word)).join(" ");
  }

  /** @param names flags without a value */
  givenFlags(names: readonly string[]): string[] {
    const { flags } = this.#words;
    return names.filter((name) => flags.includes(name));
  }

  get #words(): { flags: readonly string[]; rest: readonly string[] } {
    const end = this.#argv.indexOf("--");
    const at = end === -1 ? this.#argv.length : end;
    return { flags: this.#argv.slice(0, at), rest: this.#argv.slice(at) };
  }

  settingsStore(): Promise<SettingsStore> {
    return openSettingsStore(this.#settingsFolder, this.context);
  }

  get isSandbox(): boolean {
    return this.options.sandbox === true;
  }

  /** Shows a notice of the embedded sandbox. An unknown subject is reported only once per run. */
  readonly onSandboxNotice = (notice: SandboxNotice): void => {
    switch (notice.kind) {
      case "refilled":
        return void this.console.note(
          `The sandbox had too few credits left, and was refilled to ${notice.credits}.`,
        );
      case "reset":
        return void this.console.warn(
          `The file of the sandbox's balances could not be read. Each account has ${notice.credits} credits again.`,
        );
      case "unknown directive":
        return void this.console.warn(
          `The sandbox does not support ${notice.directive}, so it has no effect. See imggen sandbox --help.`,
        );
      case "unknown subject":
        if (this.#hasNotedSubject) return;
        this.#hasNotedSubject = true;
        return void this.console.note(`The sandbox draws placeholders, and cannot draw "${notice.noun}".`);
    }
  };

  /** Logs each exchange with the service under `--verbose`, without URL queries and without the key. */
  get onExchange(): ClientSession["onExchange"] {
    if (!this.options.verbose) return undefined;
    return ({ method, url, result, elapsedMs }) => {
      const address = redactUrl(url);
      void this.console.note(`${method} ${address}: ${result}, ${formatDuration(elapsedMs)}`);
    };
  }
}
