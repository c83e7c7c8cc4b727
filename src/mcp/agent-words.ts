import type { Vocabulary } from "../lib/wording.ts";

/** Names of options and actions in messages to agents. Messages omit sentences about an option whose name is null. */
export const AGENT_WORDS: Vocabulary = {
  options: {
    output: "output",
    name: "output",
    overwrite: null,
    again: "reuse: false",
    maxCredits: "maxCredits",
    noValidate: null,
    noWait: "waitSeconds: 0",
    yes: null,
    retryFailed: null,
    shard: null,
    resubmitUnknown: null,
    sandbox: null,
    model: "model",
    generator: null,
    generatorModel: null,
    generatorHeader: null,
    generatorPrice: null,
    checkImages: null,
    uploadCache: null,
    home: "IMGGEN_HOME",
  },
  actions: {
    resume: (id) =>
      id === undefined ? "call resume_tasks" : `call get_task with taskId ${JSON.stringify(id)}`,
    dismiss: () => "ask the user",
    rerun: () => "call generate_image with the same arguments and reuse: false",
    repeat: () => "make the same call again",
    repeated: () => "reuse: false",
    models: () => "call list_models",
    history: () => "call history",
    help: () => null,
    run: (line) => `ask the user to run imggen ${line}`,
    setApiKey: () => "Ask the user to run imggen login: the next call uses the new key.",
    setBaseUrl: () => "Ask the user to run imggen login: the next call uses the stored address.",
    trySandbox: () => "ask the user to start this server in its sandbox",
    reference: () => "Nothing was sent. The description of this tool lists its arguments.",
  },
};
