import path from "node:path";
import { buildPng } from "../lib/image/builders.ts";
import { COMFYUI, FORGETFUL, HOSTED, PACKAGE, type Provider, SYNCHRONOUS, WITH_ID } from "./providers.ts";
import type { Behaviour } from "./service.ts";
import type { Stage, StageStrike } from "./stages.ts";

/** The folders of a world, as command lines name them. */
export interface Places {
  home: string;
  out: string;
}

/** Where an image belongs: its path below the output folder, or what that looks like. */
export type Place = string | RegExp;

/** A command of a scenario. */
export interface Step {
  argv: (places: Places) => string[];
  /** Prompts of the requests that it may submit, each once. */
  submits: string[];
  /** What happens to it if it is not the one that is crashed. */
  incident?: StageStrike;
  /** The file operation after which it is killed if it is not the one that is crashed, by its call and the file's name. */
  killAfter?: RegExp;
  /**
   * A second process, started when the dealings of the first reach this stage. `expires`: the first one looks as if it had
   * been stopped for so long that others may take its tasks.
   */
  beside?: { step: Step; when: Stage; expires?: boolean };
}

/**
 * What a user does, as data: commands one after the other, of which one is crashed. Whatever they leave is
 * then finished by `resume`.
 */
export interface Scenario extends Behaviour {
  name: string;
  provider: Provider;
  steps: Step[];
  /** Which step is crashed, from 0; the ones before it run undisturbed. */
  crashed: number;
  /** Where an image belongs, which counts from 1 within its task. */
  place: (charge: { taskId: string; prompt: string }, image: number) => Place;
  /** Whether each saved image has a sidecar. */
  sidecars: boolean;
  /** Files of the user's in the output folder, by name: nothing may change them. */
  before: Record<string, Buffer>;
  /** Whether the output folder's file system has hard links. */
  hardLinks: boolean;
}

/** For a service on this machine. */
export const QUICK: readonly string[] = ["--json", "--poll-interval", "100ms"];

export const RESUME: readonly string[] = ["resume", ...QUICK];

/** Buys one picture of `prompt` into the output folder. */
export function generate(prompt: string, ...flags: string[]): Step {
  const argv = ({ out }: Places) => ["generate", prompt, ...QUICK, "--output", `${out}/`, ...flags];
  return { argv, submits: [prompt] };
}

const resume: Step = { argv: () => [...RESUME], submits: [] };

export const PLAIN: Scenario = {
  name: "generate",
  provider: HOSTED,
  steps: [generate("a fox")],
  crashed: 0,
  imagesPerTask: 1,
  runningPolls: 0,
  turnedAway: 0,
  retryAfter: 0,
  place: ({ taskId, prompt }, image) => {
    const number = image === 1 ? "" : `-${image}`;
    return `${prompt.replaceAll(" ", "-")}-${taskId.replace("-", "")}${number}.png`;
  },
  sidecars: false,
  before: {},
  hardLinks: true,
};

const RESUMED: Scenario = {
  ...PLAIN,
  name: "resume of an accepted task",
  steps: [generate("a fox", "--no-wait"), resume],
  crashed: 1,
};

const EXACT: Step = {
  argv: ({ out }) => ["generate", "a fox", ...QUICK, "--output", path.join(out, "exact.png")],
  submits: ["a fox"],
};

const NAME_TAKEN: Scenario = {
  ...PLAIN,
  name: "generate where the name is taken",
  steps: [generate("a fox", "--name", "fox")],
  place: (_charge, image) => `fox-${image + 1}.png`,
  before: { "fox.png": buildPng(3, 3) },
};

/** The ways to be crashed at every point. */
export const SCENARIOS = {
  plain: PLAIN,
  noWait: { ...PLAIN, name: "generate --no-wait", steps: [generate("a fox", "--no-wait")] },
  resumed: RESUMED,
  continued: {
    ...RESUMED,
    name: "generate of what is accepted",
    steps: [generate("a fox", "--no-wait"), { ...generate("a fox"), submits: [] }],
  },
  exactPath: {
    ...PLAIN,
    name: "generate to an exact path",
    steps: [EXACT],
    place: (_charge, image) => (image === 1 ? "exact.png" : `exact-${image}.png`),
  },
  nameTaken: NAME_TAKEN,
  noHardLinks: { ...NAME_TAKEN, name: "generate where there are no hard links", hardLinks: false },
  turnedAway: { ...PLAIN, name: "generate that is turned away twice", turnedAway: 2 },
  reuse: { ...PLAIN, name: "generate --reuse", steps: [generate("a fox", "--reuse")] },
  sidecar: { ...PLAIN, name: "generate --sidecar", steps: [generate("a fox", "--sidecar")], sidecars: true },
  severalImages: { ...PLAIN, name: "generate of three images", imagesPerTask: 3 },
  severalImagesResumed: { ...RESUMED, name: "resume of three images", imagesPerTask: 3 },
} satisfies Record<string, Scenario>;

/** For incidents with the network or the service: it waits for nothing. */
export const IMPATIENT: Scenario = {
  ...PLAIN,
  name: "generate with a short --request-timeout",
  steps: [generate("a fox", "--request-timeout", "1500ms", "--quiet")],
};

export const TIMED_OUT: Scenario = {
  ...PLAIN,
  name: "generate with a short --timeout",
  steps: [generate("a fox", "--timeout", "150ms")],
  runningPolls: 3,
};

/** Two processes at once on one ledger and one folder: the first is held up until the second has ended. */
export const TOGETHER = {
  resumes: {
    ...RESUMED,
    name: "two resumes at once",
    steps: [generate("a fox", "--no-wait"), { ...resume, beside: { step: resume, when: "download: half" } }],
  },
  generateAndResume: {
    ...PLAIN,
    name: "resume beside generate",
    steps: [{ ...generate("a fox"), beside: { step: resume, when: "poll: arrived" } }],
  },
  submitAndResume: {
    ...PLAIN,
    name: "resume beside generate that submits",
    steps: [{ ...generate("a fox"), beside: { step: resume, when: "submit: half a reply" } }],
  },
  generations: {
    ...PLAIN,
    name: "two generations at once",
    steps: [{ ...generate("a fox"), beside: { step: generate("an owl"), when: "download: half" } }],
  },
} satisfies Record<string, Scenario>;

/** Two processes, of which the first looks as if it had been stopped for long: the second one takes its task. */
export const TAKEN_OVER = {
  waiting: takenOver(SYNCHRONOUS, "submit: turned away", { turnedAway: 1, retryAfter: 3 }),
  sent: takenOver(SYNCHRONOUS, "submit: half a reply"),
  sentForId: takenOver(HOSTED, "submit: half a reply"),
  polled: takenOver(HOSTED, "poll: arrived"),
} satisfies Record<string, Scenario>;

function takenOver(provider: Provider, when: Stage, behaviour: Partial<Behaviour> = {}): Scenario {
  const scenario = generateWith(provider);
  const steps = scenario.steps.map((step) => ({ ...step, beside: { step: resume, when, expires: true } }));
  return { ...scenario, ...behaviour, name: `${scenario.name}, taken over at ${when}`, steps };
}

/** Generates so many images with a provider, one request each. */
function generateWith(provider: Provider, images = 1): Scenario {
  const { argv } = generate("a fox", ...provider.words, ...(images > 1 ? ["-n", String(images)] : []));
  return {
    ...PLAIN,
    name: `generate with ${provider.name}`,
    provider,
    steps: [{ argv, submits: Array.from({ length: images }, () => "a fox") }],
    place: provider === HOSTED ? PLAIN.place : () => /^a-fox-[0-9a-f]{8}(-\d)?\.png$/,
  };
}

/** A paid request that is sent by the process that takes its task over, which is crashed. */
const SENT_BY_RESUME: Scenario = {
  ...generateWith(SYNCHRONOUS),
  name: "resume of a paid request that waits",
  steps: [
    { ...generateWith(SYNCHRONOUS).steps[0], killAfter: /^write [^.]*-[0-9a-f]{8}\.jsonl$/ } as Step,
    resume,
  ],
  crashed: 1,
};

/** One scenario for each other provider. */
export const GENERATORS = {
  synchronous: generateWith(SYNCHRONOUS),
  twoImages: { ...generateWith(SYNCHRONOUS, 2), name: "generate of two images with a paid generator" },
  twoReplies: {
    ...generateWith(SYNCHRONOUS, 2),
    name: "generate of two replies with two images each, with a paid generator",
    imagesPerTask: 2,
  },
  withId: generateWith(WITH_ID),
  package: generateWith(PACKAGE),
  sentByResume: SENT_BY_RESUME,
  comfyui: generateWith(COMFYUI),
  forgetful: generateWith(FORGETFUL),
} satisfies Record<string, Scenario>;
