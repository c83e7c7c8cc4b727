import path from "node:path";
import type { RequestOptions } from "../../client/options/call-options.ts";
import { noFlag, type Options } from "../../client/options/option.ts";
import type { Estimate, TaskSuccess } from "../../client/results.ts";
import { outputNameProblem } from "../../core/manifest/output-name.ts";
import { UsageError } from "../../lib/error-types.ts";
import { expandHome } from "../../lib/home-folder.ts";
import { canonicalFolder, isBelow } from "../../lib/real-folder.ts";
import { isLocalFile } from "../../models/rules/images.ts";
import { jobAnswer, resumeTask, WAIT_OPTIONS } from "../job-wait.ts";
import type { Call } from "../session-jobs.ts";
import {
  defaultModelText,
  requestArguments,
  type Toolbox,
  type ToolFacts,
  tool,
  toRequestOptions,
} from "../tool.ts";
import { PREVIEW_OPTIONS, withPreviews } from "../tool-answer.ts";

const OPTIONS = {
  output: noFlag("text", {
    agents:
      "Path of a file or folder, relative to the user's output folder. The path of a new folder must end in /. An existing file is never replaced.",
  }),
  reuse: noFlag("flag", {
    agents:
      "Return the earlier task of an identical request, without another charge. The earlier images remain in their folder, and are copied only if output is a file. false submits the request again, at a new charge.",
    default: true,
  }),
  allowUndocumentedCost: noFlag("flag", {
    agents: "Submit to a model whose cost is not documented. Ask the user first.",
    default: false,
  }),
  ...WAIT_OPTIONS,
  ...PREVIEW_OPTIONS,
} satisfies Options;

export const generateImage = (settings: ToolFacts) =>
  tool({
    name: "generate_image",
    title: "Generate an image",
    description: `Submits a prompt, waits, saves the image, and returns its path and a small picture of it. ${defaultModelText(settings)} estimate_cost returns the cost of a request. Repeating the call returns the same task with reused: true, without another charge; reuse: false makes a new image, at a new charge. If the task takes longer than waitSeconds, the result contains the task's id: call get_task with this id.`,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    options: { ...requestArguments(settings), ...OPTIONS },
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
      const runningJob = reuse ? jobs.findByKey(key) : undefined;
      const spec = { key, request, estimate, reuse, allowUndocumentedCost, output, destination };
      const job = runningJob ?? jobs.start(key, (shared) => reuseOrGenerate(spec, shared, toolbox));
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
  destination: string;
}

/** @throws ImggenFailure, BudgetExceededError */
async function reuseOrGenerate(spec: TaskSpec, call: Call, toolbox: Toolbox): Promise<TaskSuccess> {
  const { client, budget, jobs } = toolbox;
  const { key, request, estimate, reuse, allowUndocumentedCost } = spec;
  const options = { ...request, ...call };
  const earlierTask = reuse ? await client.reuse({ ...options, output: spec.output }) : null;
  if (earlierTask !== null) return earlierTask;
  // `client.reuse` ignores tasks of other API keys, so tasks that this session submitted earlier are reused here.
  const chargedTaskId = reuse ? jobs.chargedTaskId(key) : undefined;
  if (chargedTaskId !== undefined)
    return { ...(await resumeTask(chargedTaskId, call, toolbox)), reused: true };
  budget.check(estimate, allowUndocumentedCost);
  return client.generate({ ...options, output: spec.destination, reuse, again: !reuse });
}

/**
 * Resolves the destination: the session's folder, or a file or folder below the session's folder.
 * @throws UsageError for a path that leads out of the session's folder, by its name or through a link
 */
async function resolveOutput(folder: string, output: string | undefined): Promise<string> {
  if (output === undefined) return `${folder}/`;
  const name = output === "" ? output : path.posix.normalize(output);
  const relativePath = name.replace(/(?<=.)\/$/, "");
  const problem = relativePath === "." ? null : outputNameProblem(relativePath);
  if (problem !== null) throw outputError(output, problem, folder);
  const target = path.join(folder, relativePath);
  if (!isBelow(await canonicalFolder(target), await canonicalFolder(folder)))
    throw outputError(output, "a symbolic link in the path leads out of the output folder", folder);
  return /(?:^|\/)\.?$/.test(name) ? `${target}/` : target;
}

/**
 * Resolves reference images. Files must be in the session's folder, because an agent must not send other files.
 * @throws UsageError for a file outside the session's folder, by its name or through a link
 */
async function resolveImages(folder: string, images: readonly string[]): Promise<string[]> {
  const realOutputFolder = await canonicalFolder(folder);
  const files: string[] = [];
  for (const image of images) {
    const file = isLocalFile(image) ? await canonicalFolder(path.resolve(folder, expandHome(image))) : image;
    if (isLocalFile(image) && !isBelow(file, realOutputFolder)) {
      throw new UsageError(`image ${JSON.stringify(image)} is outside the output folder.`, {
        hint: `Nothing was sent. Use a URL, or a file below ${folder} (only with the user's own generator).`,
      });
    }
    files.push(file);
  }
  return files;
}

function outputError(output: string, problem: string, folder: string): UsageError {
  return new UsageError(`output ${JSON.stringify(output)}: ${problem}.`, {
    hint: `Nothing was sent. Give a path relative to ${folder}, or omit output.`,
  });
}
