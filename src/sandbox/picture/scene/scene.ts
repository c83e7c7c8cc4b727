import type { Brief } from "../brief/brief.ts";
import type { Layer } from "../canvas/layer.ts";
import { water } from "../canvas/mirror.ts";
import { graded } from "../color/grade.ts";
import { SETTINGS } from "../setting/settings.ts";
import { SUBJECTS } from "../subject/subjects.ts";
import { glitter } from "./glitter.ts";
import { sky } from "./sky.ts";
import { buildStage, lit, type Stage } from "./stage.ts";

/** A picture that can be painted at this size, row by row, as often as one likes. */
interface Scene {
  readonly stage: Stage;
  readonly layers: readonly Layer[];
}

/** The same brief gives the same picture at every size of the same ratio, but for what is too small to see. */
export function composeScene(brief: Brief, width: number, height: number): Scene {
  const stage = buildStage({ ...brief, width, height });
  const subject = brief.subject && SUBJECTS[brief.subject];
  const setting = SETTINGS[brief.setting](stage, subject?.footing ?? "none");
  const figure = subject?.draw(stage, setting.spot) ?? [];
  const afloat = subject?.footing === "water" && setting.waterline !== undefined;
  const above = [...sky(stage), ...setting.back, ...(afloat ? [] : figure)];
  const surface = setting.waterline === undefined ? [] : waterBelow(stage, above, setting.waterline);
  const floating = afloat ? [mirrored(stage, figure, setting.spot.y, setting.spot.height), ...figure] : [];
  const finish = brief.grade ? [graded(brief.grade, height)] : [];
  return { stage, layers: [...above, ...surface, ...floating, ...setting.front, ...finish] };
}

function waterBelow(stage: Stage, above: readonly Layer[], line: number): Layer[] {
  const swell = stage.unit * 0.03;
  const color = lit(stage, stage.land.water);
  const surface = {
    line,
    bottom: stage.height,
    color,
    veil: [0.12, 0.6] as const,
    swell,
    noise: stage.noise,
  };
  // Rows under the surface are painted over; there is no need to paint what is above down there.
  return [water(above, surface), glitter(stage, line, swell)];
}

/** What floats nearer than the far shore is mirrored at its own waterline, over the water there is. */
function mirrored(stage: Stage, figure: readonly Layer[], line: number, tall: number): Layer {
  const bottom = Math.min(stage.height, line + tall);
  const color = lit(stage, stage.land.water);
  const swell = stage.unit * 0.02;
  return water(figure, { line, bottom, color, veil: [0.3, 0.75], swell, noise: stage.noise, overlay: true });
}
