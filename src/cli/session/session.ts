import type { ClientSession } from "../../client/client-session.ts";
import { EffectiveSettings } from "../../client/effective-settings.ts";
import type { OwnGenerator } from "../../client/generator-settings.ts";
import { profileFolder, requireProfile } from "../../client/profiles.ts";
import { type Folders, foldersOf } from "../../client/user-folders.ts";
import { formatDuration } from "../../lib/duration.ts";
import { NoHomeError } from "../../lib/home-folder.ts";
import { withoutQuery } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { COMMAND_WORDS } from "../../lib/wording.ts";
import type { GeneratorTerms } from "../../models/check-request.ts";
import { type Matrix, MODELS } from "../../models/matrix.ts";
import { readSettings, settingsFile } from "../../store/settings-file.ts";
import type { SettingsStore } from "../../store/settings-store.ts";
import { SANDBOX_SERVICE } from "../../task/intent.ts";
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
  readonly words = COMMAND_WORDS;

  readonly #argv: readonly string[];
  #folders: Folders | undefined;
  #matrix: Promise<Matrix> | undefined;
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
  get profile(): { name: string; source: "flag" | "environment"; label: string } | null {
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

  /** The models of this run. Read when they are first needed: what only finishes tasks needs none. @throws UsageError */
  matrix(): Promise<Matrix> {
    this.#matrix ??= this.#readMatrix();
    return this.#matrix;
  }

  /** The user's own generator, where it takes the place of a service. @throws UsageError, AuthRequiredError */
  async ownGenerator(): Promise<OwnGenerator | null> {
    // What follows loads more of Node than a dry run does.
    if (!this.hasGenerator) return null;
    const { generatorInEffect } = await import("../../client/service-in-effect.ts");
    return generatorInEffect(this);
  }

  /** Checks the flags about a generator, also where no task uses it. @throws UsageError */
  async checkGeneratorFlags(): Promise<void> {
    const flags = generatorSettings(this.options);
    if (this.isSandbox || Object.keys(flags).length === 0) return;
    const { checkGeneratorFlags } = await import("../../client/own-generator.ts");
    checkGeneratorFlags(flags, this);
  }

  /** How tasks name the service in effect; undefined where none is configured. @throws UsageError */
  async serviceName(): Promise<string | undefined> {
    if (this.isSandbox) return SANDBOX_SERVICE;
    const generator = await this.ownGenerator();
    if (generator !== null) return generator.spec.name;
    const { checkBaseUrl } = await import("../../client/account.ts");
    const setting = this.settings.get("baseUrl");
    return setting && checkBaseUrl(setting.value, setting.label);
  }

  /** Terms that requests to the user's own generator are checked against; null for a service. */
  async generatorTerms(request: {
    model: string | undefined;
    dryRun?: boolean | undefined;
    validate: boolean;
  }): Promise<GeneratorTerms | null> {
    if (!this.hasGenerator) return null;
    const { termsInEffect } = await import("../../client/service-in-effect.ts");
    return termsInEffect(this, request);
  }

  /** What reads a matrix file, and knows what generators do, is loaded only where there is one. */
  async #readMatrix(): Promise<Matrix> {
    if (!isSet(() => this.settings.get("matrix")) && !this.hasGenerator) return MODELS;
    const { matrixInEffect } = await import("../../client/matrix-in-effect.ts");
    return matrixInEffect(this);
  }

  /** Whether the user's own generator takes the place of a service. */
  get hasGenerator(): boolean {
    return isSet(() => this.settings.generator());
  }

  /** A command to paste, for the profile in use. */
  inProfile(command: string): string {
    return this.profile?.source === "flag" ? `${command} --profile ${this.profile.name}` : command;
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

/** Whether a setting is there. Without a home folder none is stored, and what only shows models needs none. */
function isSet(find: () => unknown): boolean {
  try {
    return find() !== undefined;
  } catch (error) {
    if (error instanceof NoHomeError) return false;
    throw error;
  }
}
