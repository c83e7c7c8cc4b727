import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";

const ACTION = path.resolve(import.meta.dirname, "../../.github/actions/imggen");

interface Step {
  id?: string;
  uses?: string;
  run?: string;
  if?: string;
  env?: Record<string, string>;
  with?: Record<string, string>;
}

/** One attempt of a job that uses the action, on a machine of its own. */
export interface Attempt {
  /** The job's working folder; it holds the manifest. */
  workspace: string;
  /** A folder that stands in for GitHub's caches. */
  caches: string;
  inputs: Record<string, string>;
  env: Record<string, string | undefined>;
  /** The runner's folder for temporary files. Default: beside the workspace. */
  temp?: string | undefined;
}

/** What a job is left with. */
export interface JobResult {
  isOk: boolean;
  /** The steps that ran, by action or script. */
  steps: string[];
  summary: string;
  outputs: string;
}

/**
 * Runs the action's steps as GitHub does: each script in a bash of its own, after a failure only those that always run.
 * Of the actions of others, caches are copied and uploads have an address.
 */
export async function runAction({ workspace, caches, inputs, env, ...given }: Attempt): Promise<JobResult> {
  const action = parse(await readFile(path.join(ACTION, "action.yml"), "utf8"));
  const temp = given.temp ?? `${workspace}.runner`;
  await mkdir(temp, { recursive: true });
  const files = Object.fromEntries(
    ["GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"].map((name) => [name, path.join(temp, name)]),
  );
  for (const file of Object.values(files)) await writeFile(file, "");
  const read = (name: string) => readFile(files[name] ?? "", "utf8");
  const context = { ...contextOf(action.inputs, inputs), "runner.temp": temp };
  const job = { isOk: true, steps: [] as string[] };
  for (const step of action.runs.steps as Step[]) {
    if (!job.isOk && step.if !== "always()") continue;
    job.steps.push(step.uses?.split("@")[0] ?? step.run ?? "");
    if (step.uses !== undefined) await standIn(step, { workspace, caches, context });
    else {
      const added = (await read("GITHUB_PATH")).split("\n").filter(Boolean);
      const PATH = [...added, env.PATH].join(path.delimiter);
      const runner = { PATH, RUNNER_TEMP: temp, GITHUB_WORKSPACE: workspace, GITHUB_ACTION_PATH: ACTION };
      const own = { ...runner, ...environmentOf(step, context) };
      const hasWorked = await works(step.run ?? "", { cwd: workspace, env: { ...env, ...files, ...own } });
      job.isOk = job.isOk && hasWorked;
    }
  }
  return { ...job, summary: await read("GITHUB_STEP_SUMMARY"), outputs: await read("GITHUB_OUTPUT") };
}

/** Runs a script as `shell: bash` does. Resolves with whether it ended well. */
async function works(script: string, options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<boolean> {
  const bash = promisify(execFile)(
    "bash",
    ["--noprofile", "--norc", "-eo", "pipefail", "-c", script],
    options,
  );
  return bash.then(
    () => true,
    () => false,
  );
}

type Values = Record<string, string | undefined>;

function environmentOf(step: Step, context: Values): Values {
  const variables = Object.entries(step.env ?? {});
  return Object.fromEntries(variables.map(([name, text]) => [name, evaluated(text, context)]));
}

/** What expressions may name, as GitHub sets it. */
function contextOf(declared: Record<string, { default?: string }>, given: Record<string, string>) {
  const values = Object.entries(declared).map(([name, { default: usual }]) => [
    `inputs.${name}`,
    given[name] ?? usual,
  ]);
  return {
    ...Object.fromEntries(values),
    "github.run_id": "1",
    "github.run_attempt": "1",
    "steps.upload.outputs.artifact-url": "https://example.com/artifact",
  } as Values;
}

function evaluated(text: string, context: Values): string {
  return text.replace(/\$\{\{ *(.*?) *\}\}/g, (_all, name: string) => {
    const value = context[name];
    if (value === undefined) throw new Error(`the action names ${name}, which has no value`);
    return value;
  });
}

interface Place {
  workspace: string;
  caches: string;
  context: Values;
}

async function standIn(step: Step, { workspace, caches, context }: Place): Promise<void> {
  const names = evaluated(step.with?.path ?? "", context)
    .trim()
    .split(/\s+/);
  if (!/cache/.test(step.uses ?? "")) return;
  const isRestored = /restore/.test(step.uses ?? "");
  const [from, to] = isRestored ? [caches, workspace] : [workspace, caches];
  // Of the runner's own folder, what lies in it is cached under its name.
  for (const name of names) {
    const place = {
      [workspace]: path.resolve(workspace, name),
      [caches]: path.join(caches, path.basename(name)),
    };
    await cp(place[from] ?? "", place[to] ?? "", { recursive: true }).catch(() => {});
  }
}
