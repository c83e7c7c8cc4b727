import path from "node:path";
import { everyNth, isLongRun } from "../support/holds.ts";
import type { Operation, OperationKind } from "./operations.ts";
import { type Incident, STAGES, type Stage } from "./stages.ts";
import type { DiskMode, Strike } from "./world.ts";

/** One way for a run to be struck, with its name for messages. */
export interface Point {
  name: string;
  /** null: nothing happens. */
  strike: Strike | null;
}

export const UNDISTURBED: Point = { name: "undisturbed", strike: null };

/** What strikes each kind of operation. */
export type Modes = Record<OperationKind, readonly DiskMode[]>;

export const POWER_CUTS = ["power cut: bytes", "power cut: names"] as const;
export type PowerCut = (typeof POWER_CUTS)[number];

/**
 * What can strike each kind of operation. Half a write has no counterpart elsewhere; a disk that is full is
 * felt where room is needed; killed after a read is killed before whatever comes next.
 */
export const EVERY_MODE: Modes = {
  write: ["kill-before", "half-written", "kill-after", "short", "EIO", "ENOSPC", ...POWER_CUTS],
  create: ["kill-before", "kill-after", "EIO", "ENOSPC", ...POWER_CUTS],
  sync: ["kill-before", "kill-after", "EIO", "ENOSPC", ...POWER_CUTS],
  change: ["kill-before", "kill-after", "EIO", ...POWER_CUTS],
  read: ["kill-before", "EIO", ...POWER_CUTS],
};

/**
 * Every state of the disk once: a kill before an operation leaves what one after the operation before it left,
 * and a power cut takes the most just before a sync.
 */
export const EVERY_STATE: Modes = {
  write: ["half-written", "kill-after", "short", "EIO", "ENOSPC"],
  create: ["kill-after", "EIO", "ENOSPC"],
  sync: ["EIO", "ENOSPC", ...POWER_CUTS],
  change: ["kill-after", "EIO"],
  read: ["EIO"],
};

/** Every state that a kill leaves, and nothing else. */
export const EVERY_KILL: Modes = {
  write: ["half-written", "kill-after"],
  create: ["kill-after"],
  sync: [],
  change: ["kill-after"],
  read: [],
};

/** The strikes on the operations of a run. */
export function diskPoints(operations: readonly Operation[], modes: Modes): Point[] {
  return operations.flatMap(({ number, name, kind, file }) =>
    modes[kind].map((mode) => ({
      name: `${mode} at operation ${number}, ${name} ${path.basename(file)}`,
      strike: { at: number, mode },
    })),
  );
}

const KILL = /^(kill-after|half-written) /;
const FAILURE = /^(EIO|ENOSPC|short) /;
const BYTES_AT_OPERATION = /^power cut: bytes at operation /;
const BYTES_AT_STAGE = /^power cut: bytes at (?!operation )/;

/**
 * A quick run's part of the points: each stage, every second kill at an operation, every twelfth failure of the disk, and
 * every sixth cut of bytes alone. A power cut at a stage that takes names takes the bytes too.
 */
export function quickPart(points: readonly Point[]): Point[] {
  if (isLongRun) return [...points];
  const some = (kind: RegExp, nth: number) =>
    everyNth(
      points.filter(({ name }) => kind.test(name)),
      nth,
    );
  const rest = [KILL, FAILURE, BYTES_AT_OPERATION, BYTES_AT_STAGE];
  const tried = new Set([...some(KILL, 2), ...some(FAILURE, 12), ...some(BYTES_AT_OPERATION, 6)]);
  return points.filter((point) => tried.has(point) || !rest.some((kind) => kind.test(point.name)));
}

/** The points from the first whose name fits on, up to the last whose name fits the other. @throws where there are none */
export function pointsBetween<Place extends { name: string }>(
  points: readonly Place[],
  from: RegExp,
  to: RegExp,
): Place[] {
  const first = points.findIndex(({ name }) => from.test(name));
  const last = points.findLastIndex(({ name }) => to.test(name));
  if (first === -1 || last < first) throw new Error(`no points from ${from} to ${to}`);
  return points.slice(first, last + 1);
}

/** Every stage that a run reached: the program killed there, or the power cut where that is a mode. */
export function stagePoints(reached: readonly Stage[], modes: Modes): Point[] {
  return reached.flatMap((stage, at) => {
    const nth = reached.slice(0, at + 1).filter((other) => other === stage).length;
    return (["kill", ...POWER_CUTS.filter((cut) => modes.sync.includes(cut))] as const).map((mode) => ({
      name: `${mode} at ${stage}${nth === 1 ? "" : `, time ${nth}`}`,
      strike: { at: null, mode, stage, nth, incident: "kill" },
    }));
  });
}

/** The same moments, with the connection or the service at fault and the program left alive. */
export function incidentPoints(): Point[] {
  const silent: Stage[] = ["submit: charged", "poll: arrived", "download: half"];
  const served: Stage[] = ["submit: body", "submit: charged", "poll: arrived", "download: arrived"];
  return [
    ...STAGES.filter((stage) => stage !== "submit: turned away").map((stage) => incidentAt(stage, "reset")),
    ...silent.map((stage) => incidentAt(stage, "silence")),
    ...served.map((stage) => incidentAt(stage, "HTTP 500")),
    incidentAt("download: half", "end"),
  ];
}

export function incidentAt(stage: Stage, incident: Incident): Point {
  return { name: `${incident} at ${stage}`, strike: { at: null, mode: "incident", stage, nth: 1, incident } };
}
