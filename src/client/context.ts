import type { HttpClientOptions } from "../api/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { Processes } from "../lib/processes.ts";
import type { OptionNames } from "../lib/wording.ts";
import type { SandboxOptions } from "../sandbox/server.ts";
import type { EffectiveSettings } from "./effective-settings.ts";
import type { Folders } from "./folders.ts";
import type { ProcessContext } from "./this-process.ts";

/** What a client needs from the process it runs in: the command line, or a program that uses the package. */
export interface ClientContext extends Pick<ProcessContext, "env" | "fileMode" | "resolvePath"> {
  readonly clock: Clock;
  readonly processes: Processes;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly folders: Folders;
  readonly settings: Pick<
    EffectiveSettings,
    "get" | "dailyCredits" | "confirmAbove" | "matrixFile" | "forget"
  >;
  /** How messages name options. */
  readonly optionNames: OptionNames;
  /** Whether the embedded sandbox takes the place of the configured service. */
  readonly isSandbox: boolean;
  /** Draws the embedded sandbox's images; where it is absent, the sandbox's own painter does. */
  readonly drawPicture?: SandboxOptions["draw"];
  /** Called when the embedded sandbox had too few credits left. @param credits its new balance */
  readonly onRefill: (credits: number) => void;
  /** Called with the main noun of a prompt that the embedded sandbox paints without it. */
  readonly onUnknownSubject?: (noun: string) => void;
  /** Called after every exchange with the service. */
  readonly onExchange: HttpClientOptions["onExchange"];
}
