import type { ClientSession } from "../../client/client-session.ts";
import {
  EffectiveSettings,
  generatorSettings,
  openSettingsStore,
  storedSettings,
} from "../../client/effective-settings.ts";
import type { GENERATOR, GLOBAL } from "../../client/options/global-options.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { inProfile, type Profile, profileFolder, requireProfile } from "../../client/profiles.ts";
import { type Folders, userFolders } from "../../client/user-folders.ts";
import { formatDuration } from "../../lib/duration.ts";
import { redactUrl } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { COMMAND_VOCABULARY } from "../../lib/wording.ts";
import type { SandboxNotice } from "../../sandbox/server.ts";
import type { SettingsStore } from "../../store/settings-store.ts";
import type { Console } from "../text/console.ts";
import type { Context } from "./context.ts";

/** The global flags, but for those of the console, which is there before the command line is parsed. */
export type GlobalOptions = FlagsOf<Omit<typeof GLOBAL, "quiet" | "color">> & FlagsOf<typeof GENERATOR>;

/** Context and global flags of one run of a command, and the settings that follow from both. */
export class Session implements ClientSession {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly console: Console;
  readonly settings: EffectiveSettings;
  readonly words = COMMAND_VOCABULARY;

  readonly #argv: readonly string[];
  #folders: Folders | undefined;
  #isSubjectNoted = false;

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

  /** The profile in use, and what chose it; null for the settings without a name. */
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

  /** The folders of settings and state; not every command needs them. @throws UsageError as `userFolders` */
  get folders(): Folders {
    this.#folders ??= userFolders(this.context);
    return this.#folders;
  }

  /** A command to paste, for the profile in use. */
  inProfile(command: string): string {
    return inProfile(command, this);
  }

  /**
   * The command that is running, as it can be pasted into a shell.
   * @param flag added if it is not there
   * @param without flags that are left out
   */
  commandLine(flag?: string, without: readonly string[] = []): string {
    const { flags, rest } = this.#words;
    const remainingFlags = flags.filter((word) => word === flag || !without.includes(word));
    if (flag !== undefined && !remainingFlags.includes(flag)) remainingFlags.push(flag);
    return ["imggen", ...remainingFlags, ...rest].map((word) => shellWord(word)).join(" ");
  }

  /** Flags without a value, of those named, on the command line. */
  givenFlags(names: readonly string[]): string[] {
    const { flags } = this.#words;
    return names.filter((name) => flags.includes(name));
  }

  /** The words of the command line before `--`, and the others. */
  get #words(): { flags: readonly string[]; rest: readonly string[] } {
    const end = this.#argv.indexOf("--");
    const at = end === -1 ? this.#argv.length : end;
    return { flags: this.#argv.slice(0, at), rest: this.#argv.slice(at) };
  }

  /** The settings to be changed. */
  settingsStore(): Promise<SettingsStore> {
    return openSettingsStore(this.#settingsFolder, this.context);
  }

  /** Whether the embedded sandbox takes the place of the configured service. */
  get isSandbox(): boolean {
    return this.options.sandbox === true;
  }

  /** Shows a notice of the embedded sandbox; an unknown subject only once, because one of a batch is enough. */
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
          `The sandbox does not know ${notice.directive}, so it has no effect. See imggen sandbox --help.`,
        );
      case "unknown subject":
        if (this.#isSubjectNoted) return;
        this.#isSubjectNoted = true;
        return void this.console.note(`The sandbox's painter does not know "${notice.noun}".`);
    }
  };

  /**
   * The log of `--verbose`: a line for each exchange with the service, without queries and without the key; not under
   * `--quiet`.
   */
  get onExchange(): ClientSession["onExchange"] {
    if (!this.options.verbose) return undefined;
    return ({ method, url, result, elapsedMs }) => {
      const address = redactUrl(url);
      void this.console.note(`${method} ${address}: ${result}, ${formatDuration(elapsedMs)}`);
    };
  }
}
