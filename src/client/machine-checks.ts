import { constants, promises, type Stats } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { parseNoProxy } from "../api/no-proxy.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import { tasksToResume } from "../core/use-cases/resume.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { ImggenError } from "../lib/error-types.ts";
import { shellWord } from "../lib/shell-word.ts";
import { pluralize } from "../lib/whole-number.ts";
import { mayBeCharged } from "../store/ledger-files.ts";
import { StateFolderError } from "../store/store-errors.ts";
import { isInHistory, OPEN_STATES, openTaskState } from "../task/task.ts";
import { openLedger } from "./client-session.ts";
import { type Finding, failed, news, ok, orNotChecked, warning } from "./finding.ts";
import { proxyInUse } from "./targets/service-check.ts";
import type { TargetSession } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

const MIB = 1024 ** 2;
/** Free space that a submit needs, because a task's file and the reserve file must fit. */
const MIN_FREE_BYTES = MIB;
const LOW_FREE_BYTES = 100 * MIB;

/** Folders to check separately, because a subfolder can belong to another user, for example after a run as root. */
const LEDGER_FOLDERS = [".", "tasks", "tasks/open", "tasks/done"];

/** Checks the ledger's folder, because a request is recorded in this folder before its submit. */
export async function checkState(session: TargetSession): Promise<Finding> {
  const { state: folder } = await orNotChecked(() => session.folders);
  const { exists, mode, freeBytes } = await folderFacts(folder);
  const facts = { folder, exists, mode, freeBytes };
  const otherFolderHint = "or set IMGGEN_HOME to another folder.";
  for (const name of LEDGER_FOLDERS) {
    const { problem } = await folderFacts(path.join(folder, name));
    const hint = `Nothing can be submitted. Fix its permissions, ${otherFolderHint}`;
    if (problem !== null) throw new StateFolderError(folder, problem, { hint });
  }
  const freeText = freeBytes === null ? null : bytesText(freeBytes);
  const lowSpaceMessage = `The disk of ${folder} has only ${freeText} left.`;
  if (freeBytes !== null && freeBytes < MIN_FREE_BYTES)
    return failed(lowSpaceMessage, `Nothing can be submitted. Free some space, ${otherFolderHint}`, facts);
  if (freeBytes !== null && freeBytes < LOW_FREE_BYTES)
    return warning(lowSpaceMessage, "Free some space.", facts);
  if (hasPermissions(0o022, mode)) {
    const openMessage = `Other users can write to ${folder} (mode ${mode}).`;
    return warning(openMessage, `Run: chmod 700 ${shellWord(folder)}`, facts);
  }
  const parts = [
    folder,
    !exists && "does not exist yet",
    mode && `mode ${mode}`,
    freeText && `${freeText} free`,
  ];
  return ok(parts.filter(Boolean).join(", "), facts);
}

export async function checkFolder({ context }: TargetSession): Promise<Finding> {
  const hint = "Change to another folder, or save elsewhere with --output.";
  try {
    const folder = context.resolvePath(".");
    const { problem } = await folderFacts(folder);
    if (problem === null) return ok(folder, { folder });
    return warning(`No image can be saved in ${folder}: ${errorText(problem)}.`, hint, { folder });
  } catch (error) {
    if (error instanceof ImggenError) return warning(error.message, hint, { folder: null });
    throw error;
  }
}

export async function checkTasks(session: TargetSession): Promise<Finding> {
  const { context, isSandbox } = session;
  const ledger = openLedger({ folders: await orNotChecked(() => session.folders), context });
  const { targets, served, unreadable: entries } = await tasksToResume([], isSandbox, ledger);
  const records = targets.flatMap(({ record }) => (record !== null && isInHistory(record) ? record : []));
  const tasks = await Promise.all(
    records.filter((record) => !ledger.isClaimed(record)).map((record) => ledger.withLostReplies(record)),
  );
  const inProgress = records.length - tasks.length + served.length;
  const states = tasks.map(openTaskState);
  const byState = OPEN_STATES.map((state) => ({
    state,
    count: states.filter((each) => each === state).length,
  }));
  const openStates = byState.filter(({ state, count }) => state !== "unknown" && count > 0);
  const unfinished = openStates.reduce((sum, { count }) => sum + count, 0);
  const unknown = states.filter((state) => state === "unknown").length;
  const unreadable = entries.filter(mayBeCharged).length;
  const facts = { inProgress, unfinished, unknown, unreadable };
  const stateCounts = openStates.map(({ state, count }) => `${count} ${state}`).join(", ");
  const problems = [
    unfinished > 0 && `${pluralize(unfinished, "task is", "tasks are")} unfinished (${stateCounts}).`,
    unknown > 0 && `The outcome of ${pluralize(unknown, "request")} is unknown.`,
    unreadable > 0 && `${pluralize(unreadable, "file")} of the ledger cannot be read.`,
  ].filter((message) => message !== false);
  if (problems.length === 0)
    return inProgress === 0 ? ok("none unfinished", facts) : news(`${inProgress} in progress`, facts);
  const canFinish = unfinished > 0 && problems.length === 1;
  const purpose = canFinish ? "To finish them" : "To resume the tasks and see the next steps";
  return warning(problems.join(" "), `${purpose}: imggen resume${isSandbox ? " --sandbox" : ""}`, facts);
}

interface FolderFacts {
  exists: boolean;
  /** Octal permissions such as `0700`, or null if the folder does not exist or the platform has no modes. */
  mode: string | null;
  freeBytes: number | null;
  /** Error that prevents new files, or null. After an error, the other facts are unknown. */
  problem: unknown;
}

/** Inspects a folder, or its nearest existing parent. Creates nothing. */
export async function folderFacts(folder: string, existingFolder = folder): Promise<FolderFacts> {
  try {
    const stats = await promises.stat(existingFolder);
    const disk = await promises.statfs(existingFolder).catch(() => null);
    const freeBytes = disk && disk.bavail * disk.bsize;
    if (!stats.isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    await promises.access(existingFolder, constants.W_OK | constants.X_OK);
    const exists = existingFolder === folder;
    return { exists, mode: exists ? modeText(stats) : null, freeBytes, problem: null };
  } catch (error) {
    const parentFolder = path.dirname(existingFolder);
    if (errorCode(error) === "ENOENT" && parentFolder !== existingFolder)
      return folderFacts(folder, parentFolder);
    if (errorCode(error) === undefined) throw error;
    return { exists: false, mode: null, freeBytes: null, problem: error };
  }
}

export function modeText({ mode }: Stats): string | null {
  return platform() === "win32" ? null : (mode & 0o777).toString(8).padStart(4, "0");
}

export function hasPermissions(bits: number, mode: string | null): boolean {
  return (Number.parseInt(mode ?? "0", 8) & bits) !== 0;
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function bytesText(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** at;
  return `${amount < 10 ? Math.floor(amount * 10) / 10 : Math.floor(amount)} ${UNITS[at]}`;
}

export async function checkProxy(session: TargetSession): Promise<Finding | null> {
  if (session.isSandbox) return ok("none for the embedded sandbox", { url: null });
  const proxies = proxiesFromEnvironment(session.context.env);
  if (proxies === undefined) return ok("none", { url: null });
  const { kind, url } = await orNotChecked(async () => {
    const target = await targetInEffect(session);
    return { kind: target.kind, url: target.url() };
  });
  if (url === null) return kind === "generator" ? ok("none for a command", { url: null }) : null;
  const proxy = proxyInUse(url, session);
  const facts = { url: proxy?.url ?? null };
  const text = proxy === null ? `none for ${url.host}` : `${proxy.url} (${proxy.variable})`;
  const { unknown } = parseNoProxy(proxies.except);
  if (unknown.length === 0) return proxy === null ? ok(text, facts) : news(text, facts);
  const variable = proxies.variables?.except ?? "NO_PROXY";
  return warning(`${text}. Ignored entries of ${variable}: ${unknown.join(" ")}.`, NO_PROXY_FORMS, facts);
}

const NO_PROXY_FORMS =
  "Write names, addresses and networks, such as .example.com, 10.0.0.1:8080, 10.0.0.0/8, fd00::/8, or * for all.";

const ANY_CERTIFICATE =
  "NODE_TLS_REJECT_UNAUTHORIZED=0 accepts every certificate, so others on the network could read the API key.";

export async function checkTls({ context: { env } }: TargetSession): Promise<Finding> {
  const { NODE_EXTRA_CA_CERTS: extraCertificates, NODE_TLS_REJECT_UNAUTHORIZED: rejects } = env;
  const facts = { extraCertificates: extraCertificates || null };
  const hint = "Unset it, and name the certificates to trust in NODE_EXTRA_CA_CERTS.";
  if (rejects === "0") return warning(ANY_CERTIFICATE, hint, facts);
  if (!extraCertificates) return ok("Node's own certificates", facts);
  try {
    await promises.readFile(extraCertificates);
    return ok(`Node's own certificates, and those in ${extraCertificates}`, facts);
  } catch (error) {
    const message = `The certificates in ${extraCertificates} cannot be read: ${errorText(error)}.`;
    return warning(message, "Set NODE_EXTRA_CA_CERTS to a file of certificates, or unset it.", facts);
  }
}
