import path from "node:path";
import type { RequestOptions } from "../../client/options/call-options.ts";
import { noFlag, type Options } from "../../client/options/option.ts";
import type { Estimate, TaskSuccess } from "../../client/results.ts";
import { outputNameProblem } from "../../core/manifest/output-name.ts";
import { UsageError } from "../../lib/error-types.ts";
import { expandHome } from "../../lib/home-folder.ts";
import { canonicalFolder, isBelow } from "../../lib/real-folder.ts";
import { isLocalFile } from "../../models/rules/images.ts";
import { jobAnswer, resumedTask, WAIT } from "../job-wait.ts";
import type { Call } from "../session-jobs.ts";
import {
  defaultModelText,
  requestOptions,
  type Toolbox,
  type ToolFacts,
  tool,
  toRequestOptions,
} from "../tool.ts";
import { PREVIEW, withPreviews } from "../tool-answer.ts";

const OPTIONS = {
  output: noFlag("text", {
    agents:
      "A path below the user's output folder: a file; or a folder, which exists or ends in /. A file that exists is never replaced.",
  }),
  reuse: noFlag("flag", {
    agents:
      "Return the earlier task of an identical request, which is not charged again: its images are left where they are, or copied if output is a file. false submits it again, at a new charge.",
    default: true,
  }),
  allowUndocumentedCost: noFlag("flag", {
    agents: "Submit to a model whose cost is not documented. Ask the user first.",
    default: false,
  }),
  ...WAIT,
  ...PREVIEW,
} satisfies Options;

export const generateImage = (settings: ToolFacts) =>
  tool({
    name: "generate_image",
    title: "Generate an image",
    description: `Submits a prompt, waits, saves the image, and returns its path and a small picture of it. ${defaultModelText(settings)} estimate_cost tells the cost of a request. The same call again returns the same task, is not charged again, and says reused: true; reuse: false makes a new image, at a new charge. If the task takes longer than waitSeconds, the result contains its id: call get_task with it.`,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    options: { ...requestOptions(settings), ...OPTIONS },
    presentNames: ["prompt", "reuse", "allowUndocumentedCost", "waitSeconds"],
    async run({ waitSeconds, preview, ...args }, call, toolbox) {
      const { client, jobs } = toolbox;
      const { folder, note } = await toolbox.findOutput();
      const { output: outputPath, reuse, allowUndocumentedCost, ...fields } = args;
      const destination = await resolveOutput(folder, outputPath);
      const output = outputPath === undefined ? undefined : destination;
      const image = fields.image && (await resolveImages(folder, [fields.image].flat()));
      const request = { ...toRequestOptions(fields, toolbox), image };
      const estimate = client.estimate(request);
      const key = JSON.stringify([estimate.request, output ?? null]);
      const running = reuse ? jobs.findByKey(key) : undefined;
      const spec = { key, request, estimate, reuse, allowUndocumentedCost, output, destination };
      const job = running ?? jobs.start(key, (shared) => taskFor(spec, shared, toolbox));
      const answer = await jobAnswer(job, waitSeconds, call, toolbox);
      const answerWithNote =
        note === null ? answer : { ...answer, result: { ...answer.result, folder: note } };
      return withPreviews(answerWithNote, preview ?? toolbox.previews);
    },
  });

interface TaskSpec {
  reuse: boolean;
  allowUndocumentedCost: boolean;
  output: string | undefined;
  key: string;
  request: RequestOptions;
  estimate: Estimate;
  /** Destination of a new task's images. */
  destination: string;
}

/** The earlier task for a request, else a new one. @throws ImggenFailure, BudgetExceededError */
async function taskFor(spec: TaskSpec, call: Call, toolbox: Toolbox): Promise<TaskSuccess> {
  const { client, budget, jobs } = toolbox;
  const { key, request, estimate, reuse, allowUndocumentedCost } = spec;
  const options = { ...request, ...call };
  const earlier = reuse ? await client.reuse({ ...options, output: spec.output }) : null;
  if (earlier !== null) return earlier;
  // If the key was changed since, the task belongs to another account, but still to this session.
  const charged = reuse ? jobs.chargedTaskId(key) : undefined;
  if (charged !== undefined) return { ...(await resumedTask(charged, call, toolbox)), reused: true };
  budget.check(estimate, allowUndocumentedCost);
  return client.generate({ ...options, output: spec.destination, reuse, again: !reuse });
}

/**
 * Destination of a call's images: the session's folder, or a file or folder below it.
 * @param folder absolute
 * @throws UsageError for a path that is outside, by its name or through a link
 */
async function resolveOutput(folder: string, output: string | undefined): Promise<string> {
  if (output === undefined) return `${folder}/`;
  const name = output === "" ? output : path.posix.normalize(output);
  const bare = name.replace(/(?<=.)\/$/, "");
  const problem = bare === "." ? null : outputNameProblem(bare);
  if (problem !== null) throw refused(output, problem, folder);
  const target = path.join(folder, bare);
  if (!isBelow(await canonicalFolder(target), await canonicalFolder(folder)))
    throw refused(output, "a link in it leads out of the output folder", folder);
  return /(?:^|\/)\.?$/.test(name) ? `${target}/` : target;
}

/**
 * A call's reference images. An agent may give files of the session's folder only: no other file of the user may be
 * sent anywhere.
 * @throws UsageError for a file that is outside, by its name or through a link
 */
async function resolveImages(folder: string, images: readonly string[]): Promise<string[]> {
  const real = await canonicalFolder(folder);
  const files: string[] = [];
  for (const image of images) {
    const file = isLocalFile(image) ? await canonicalFolder(path.resolve(folder, expandHome(image))) : image;
    if (isLocalFile(image) && !isBelow(file, real)) {
      throw new UsageError(`image ${JSON.stringify(image)} is outside the output folder.`, {
        hint: `Nothing was sent. Give a URL or, with a generator of the user's own, a file below ${folder}.`,
      });
    }
    files.push(file);
  }
  return files;
}

function refused(output: string, problem: string, folder: string): UsageError {
  return new UsageError(`output ${JSON.stringify(output)}: ${problem}.`, {
    hint: `Nothing was sent. Give a path relative to ${folder}, or omit output.`,
  });
}
