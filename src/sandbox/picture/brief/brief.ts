import { GRADES, type Grade } from "../color/grade.ts";
import { LANDS, type Land } from "../color/land.ts";
import { LIGHTS, type Light, type LightName } from "../color/light.ts";
import type { Rgb } from "../color/rgb.ts";
import { type Random, seededRandom } from "../seed/random.ts";
import { homeOf, type SettingName } from "../setting/settings.ts";
import type { StyleName } from "../style/style-name.ts";
import type { SubjectName } from "../subject/subjects.ts";
import * as table from "./vocabulary.ts";
import { firstMatch, wordsOf } from "./words.ts";

/** What a prompt asks the painter for. */
export interface Brief {
  /** Everything left open by the prompt follows from this text. */
  readonly seed: string;
  readonly light: Light;
  readonly land: Land;
  readonly accent: Rgb | undefined;
  readonly grade: Grade | undefined;
  readonly style: StyleName;
  readonly setting: SettingName;
  readonly subject: SubjectName | undefined;
  /** The moon is what the picture is about. */
  readonly moonlit: boolean;
}

/** Reads the prompt; `index` makes several pictures of one prompt differ in all that it leaves open. */
export function readBrief(prompt: string, index: number): Brief {
  const words = wordsOf(prompt);
  const seed = `${index}\n${prompt}`;
  const draw = seededRandom(`brief\n${seed}`);
  const subject = firstMatch(words, table.SUBJECT_WORDS);
  const setting = settingOf(words) ?? homeOf(subject, draw);
  const grade = firstMatch(words, table.GRADE_WORDS);
  return {
    seed,
    light: LIGHTS[firstMatch(words, table.LIGHT_WORDS) ?? usualLight(setting, draw)],
    land: LANDS[firstMatch(words, table.LAND_WORDS) ?? draw.pick(["summer", "summer", "spring", "autumn"])],
    accent: firstMatch(words, table.ACCENT_WORDS),
    grade: grade && GRADES[grade],
    style: styleOf(words),
    setting,
    subject,
    moonlit: words.has("moon"),
  };
}

/** A lake in the mountains is both, so it is asked for first. */
function settingOf(words: ReadonlySet<string>): SettingName | undefined {
  const setting = firstMatch(words, table.SETTING_WORDS);
  return setting === "mountains" && words.has("lake") ? "lake" : setting;
}

/** "Oil" says more than the "painting" it stands next to, wherever the two are. */
function styleOf(words: ReadonlySet<string>): StyleName {
  const telling = new Set([...words].filter((word) => word !== "painting" && word !== "drawing"));
  return firstMatch(telling, table.STYLE_WORDS) ?? firstMatch(words, table.STYLE_WORDS) ?? "plain";
}

function usualLight(setting: SettingName, draw: Random): LightName {
  if (setting === "space") return "night";
  if (setting === "city") return draw.pick(["dusk", "night", "dusk", "dawn"]);
  return draw.pick(["day", "dusk", "golden", "dawn", "day"]);
}
