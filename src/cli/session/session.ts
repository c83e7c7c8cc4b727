import type { ClientSession } from "../../client/client-session.ts";
import { EffectiveSettings } from "../../client/effective-settings.ts";
import { inProfile, type Profile, profileFolder, requireProfile } from "../../client/profiles.ts";
import { type Folders, foldersOf } from "../../client/user-folders.ts";
import { formatDuration } from "../../lib/duration.ts";
import { withoutQuery } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { FLAG_NAMES } from "../../lib/wording.ts";
import { readSettings, settingsFile } from "../../store/settings-file.ts";
import type { SettingsStore } from "../../store/settings-store.ts";
import type { Console } from "../text/console.ts";
import type { Context } from "./context.ts";
import { type GeneratorOptions, generatorSettings } from "./generator-flags.ts";

/** The global flags, but for those of the console, which is there before the command line is parsed. */
export interface GlobalOptions extends GeneratorOptions {
  json?: boolean;
  verbose?: boolean;
  sandbox?: boolean;
  profile?: string;
}

/** What one run of a command works with: its context, the global flags, and what follows from both. */
export class Session implements ClientSession {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly console: Console;
  readonly settings: EffectiveSettings;
  readonly optionNames = FLAG_NAMES;

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
      return readSettings(settingsFile(this.#settingsFolder));
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

  /** The folders of settings and state; not every command needs them. @throws UsageError as `foldersOf` */
  get folders(): Folders {
    this.#folders ??= foldersOf(this.context);
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
    const end = this.#argv.indexOf("--");
    const at = end === -1 ? this.#argv.length : end;
    const flags = this.#argv.slice(0, at).filter((word) => word === flag || !without.includes(word));
    if (flag !== undefined && !flags.includes(flag)) flags.push(flag);
    const words = ["imggen", ...flags, ...this.#argv.slice(at)];
    return words.map((word) => shellWord(word)).join(" ");
  }

  /** The settings to be changed. Loaded late: most commands only read them. */
  async settingsStore(): Promise<SettingsStore> {
    const { SettingsStore } = await import("../../store/settings-store.ts");
    return new SettingsStore(this.#settingsFolder, this.context.processes);
  }

  /** Whether the embedded sandbox takes the place of the configured service. */
  get isSandbox(): boolean {
    return this.options.sandbox === true;
  }

  onRefill(credits: number): void {
    void this.console.note(`The sandbox had too few credits left, and was refilled to ${credits}.`);
  }

  readonly onUnknownDirective = (directive: string): void => {
    void this.console.warn(
      `The sandbox does not know ${directive}, so it has no effect. See imggen sandbox --help.`,
    );
  };

  /** Says once what the sandbox's painter does not know: of a batch, one is enough. */
  readonly onUnknownSubject = (noun: string): void => {
    if (this.#isSubjectNoted) return;
    this.#isSubjectNoted = true;
    void this.console.note(`The sandbox's painter does not know "${noun}".`);
  };

  /**
   * What `--verbose` logs: a line for each exchange with the service, without queries and without the key; not under
   * `--quiet`.
   */
  get onExchange(): ClientSession["onExchange"] {
    if (!this.options.verbose) return undefined;
    return ({ method, url, result, elapsedMs }) => {
      const place = withoutQuery(url.href);
      void this.console.note(`${method} ${place}: ${result}, ${formatDuration(elapsedMs)}`);
    };
  }
}
