import type { Socket } from "node:net";
import { response } from "../support/scripted-server.ts";

/** The moments in the dealings with a provider at which something can happen. */
export const STAGES = [
  "connected",
  "submit: headers",
  "submit: body",
  "submit: turned away",
  "submit: charged",
  "submit: first byte",
  "submit: half a reply",
  "submit: replied",
  "poll: arrived",
  "poll: half a reply",
  "poll: replied",
  "download: arrived",
  "download: first byte",
  "download: half",
  "download: last byte",
] as const;

export type Stage = (typeof STAGES)[number];

/**
 * What happens there: the program is killed, the connection is reset, nothing more comes, HTTP 500, a reply
 * that ends here as if it were whole, or a rest that comes once the process beside has ended.
 */
export type Incident = "kill" | "reset" | "silence" | "HTTP 500" | "end" | "stall";

export interface StageStrike {
  stage: Stage;
  /** The how manieth time the stage is reached, from 1. */
  nth: number;
  incident: Incident;
}

/** Follows the stages of a run, and causes the one incident that was asked for. */
export class StageWatch {
  /** The stages so far, in their order. */
  readonly reached: Stage[] = [];
  /** Whether the incident has happened. */
  struck = false;
  readonly strike: StageStrike | null;
  readonly #kill: () => void;
  readonly #onStage: (stage: Stage) => void;
  #held: () => void = () => {};

  constructor(
    strike: StageStrike | null,
    kill: () => void = () => {},
    onStage: (stage: Stage) => void = () => {},
  ) {
    this.strike = strike;
    this.#kill = kill;
    this.#onStage = onStage;
  }

  awaits(stage: Stage): boolean {
    return this.strike?.stage === stage && !this.struck;
  }

  /**
   * A stage is reached. Whether its incident has happened now: then nothing else is to be done.
   * @param socket null where only a kill can happen
   * @param goOn what comes next, should it only come late
   */
  strikes(stage: Stage, socket: Socket | null, goOn: () => void = () => {}): boolean {
    this.reached.push(stage);
    this.#onStage(stage);
    const times = this.reached.filter((other) => other === stage).length;
    if (!this.strike || !this.awaits(stage) || times < this.strike.nth) return false;
    this.struck = true;
    this.#happen(this.strike.incident, socket, goOn);
    return true;
  }

  /** Ends a stall. */
  goOn(): void {
    this.#held();
  }

  #happen(incident: Incident, socket: Socket | null, goOn: () => void): void {
    switch (incident) {
      case "kill":
        this.#kill();
        break;
      case "reset":
        socket?.resetAndDestroy();
        break;
      case "HTTP 500":
        socket?.write(response(500, "made to fail"));
        break;
      case "end":
        socket?.end();
        break;
      case "stall":
        this.#held = goOn;
        break;
      case "silence":
    }
  }
}
