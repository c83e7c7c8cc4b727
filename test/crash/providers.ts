import path from "node:path";
import type { ServiceForm } from "../support/doubles/double.ts";
import { EXAMPLE, installExample } from "../support/doubles/example.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { OPENAI } from "../support/doubles/synchronous.ts";
import { json, success } from "../support/scripted-server.ts";
import { CrashComfyui } from "./comfyui.ts";
import type { Double } from "./double.ts";
import { type Behaviour, CrashService, imageOf, type PlayedForm } from "./service.ts";

/** The key of every run here. */
export const KEY = "sk-crash-5f3e9a7c1b8d2046";

/** A provider of images: how the program comes to it, and what differs from the others in what must come of a crash. */
export interface Provider {
  name: string;
  /** What a generate says of it beside its prompt. */
  words: readonly string[];
  /** The variables by which the program finds it. */
  environment: (origin: string) => Record<string, string>;
  /** Puts what it needs into a home. */
  install?: (home: string) => Promise<unknown>;
  /** Plays it in one world. */
  double: (behaviour: Behaviour) => Double;
  /** Whether its reply gives the job a name that imggen has to learn. */
  givesIds: boolean;
  isPaid: boolean;
  /** Whether a request may stay of unknown outcome for good: its provider cannot tell what came of it. */
  leavesUnknown: boolean;
  /** Whether a request that was not sent is sent by `resume`. */
  keepsUnsent: boolean;
  /** Whether it loses its jobs between a crash and the resume: then each may be asked for once more, and fail. */
  forgets: boolean;
}

const hostedId = (number: number) => `task-${String(number).padStart(4, "0")}`;

function hostedForm(imagesPerTask: number): PlayedForm {
  const urls = (origin: string, number: number) =>
    Array.from({ length: imagesPerTask }, (_, at) => `${origin}/${hostedId(number)}/${at}.png`);
  return {
    idOf: hostedId,
    partOf: ({ method, target }) =>
      method === "POST" ? "submit" : target.startsWith("/api/") ? "poll" : "file",
    replies: {
      submit: (_origin, number) => success({ taskId: hostedId(number) }),
      poll: (origin, number) => {
        const [url, ...more] = urls(origin, number);
        return success({
          status: "completed",
          resultUrl: more.length === 0 ? url : [url, ...more],
          errorCode: 0,
        });
      },
    },
    running: () => success({ status: "processing", errorCode: 0 }),
  };
}

/** The hosted service. A task that it may not have been asked for is never sent by another process. */
export const HOSTED: Provider = {
  name: "the hosted service",
  words: [],
  environment: (origin) => ({ IMGGEN_API_KEY: KEY, IMGGEN_BASE_URL: `${origin}/api` }),
  double: (behaviour) => new CrashService(hostedForm(behaviour.imagesPerTask), behaviour),
  givesIds: true,
  isPaid: true,
  leavesUnknown: true,
  keepsUnsent: false,
  forgets: false,
};

const found = (spec: string) => ({ IMGGEN_GENERATOR: spec, IMGGEN_GENERATOR_KEY: KEY });

/** @param form how it answers, and the name that it gives a job; null where the reply is the image */
function paid(name: string, form: ServiceForm, idOf: PlayedForm["idOf"]): Provider {
  return {
    name,
    words: ["--generator-paid", "--model", form.model],
    environment: (origin) => found(`${form.kind}:${origin}${form.basePath}`),
    double: (behaviour) => new CrashService({ ...form, idOf, running: form.ends?.running.poll }, behaviour),
    givesIds: idOf !== null,
    isPaid: true,
    leavesUnknown: true,
    keepsUnsent: true,
    forgets: false,
  };
}

function synchronousForm(imagesPerTask: number): PlayedForm {
  const submit = (_origin: string, number: number) => {
    const images = Array.from({ length: imagesPerTask }, (_, at) => imageOf(number, at).toString("base64"));
    const data = images.map((image) => ({ b64_json: image }));
    return json({ created: 1, data, usage: { total_tokens: 7 } });
  };
  return { ...OPENAI, replies: { ...OPENAI.replies, submit }, idOf: null };
}

/** An OpenAI-compatible server: the reply is the image. */
export const SYNCHRONOUS: Provider = {
  ...paid("a paid generator", OPENAI, null),
  double: (behaviour) => new CrashService(synchronousForm(behaviour.imagesPerTask), behaviour),
};

export const WITH_ID = paid("a paid service that gives an id", REPLICATE, (number) => `pred-${number}`);

/** The package that the documentation walks through. */
export const PACKAGE: Provider = {
  ...paid("a provider from a package", EXAMPLE, (number) => `job-${number}`),
  words: ["--model", EXAMPLE.model],
  install: (home) => installExample(path.join(home, "config")),
};

/** A free server that can tell what became of a request, so that none is ever of unknown outcome. */
export const COMFYUI: Provider = {
  name: "ComfyUI",
  words: ["--model", "dream.safetensors"],
  environment: (origin) => found(`comfyui:${origin}`),
  double: () => new CrashComfyui(),
  givesIds: false,
  isPaid: false,
  leavesUnknown: false,
  keepsUnsent: true,
  forgets: false,
};

export const FORGETFUL: Provider = {
  ...COMFYUI,
  name: "a ComfyUI that loses its queue and history",
  forgets: true,
};
