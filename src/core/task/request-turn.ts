import { ImggenError } from "../../lib/error-types.ts";
import type { Provider, WaitHow } from "../../providers/provider.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import { workOf } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import type { Turn, Waiting } from "../turns/line.ts";
import { type TaskWriter, WAIT_MS } from "./task-writer.ts";

const NOT_SENT = "Nothing was sent. Free some space or fix the folder's permissions.";

/** Where nothing waits for anything. */
const AT_ONCE: Turn = { release: async () => {} };

/**
 * Makes the folder for what will arrive, and waits for the request's turn, which others are told: the user, and other
 * processes. @throws StateFolderError, or the signal's reason
 */
export async function inTurn(writer: TaskWriter, index: number, deps: TaskDeps): Promise<Turn> {
  const { connection, signal, clock, ledger } = deps;
  const { line } = connection.generator ?? {};
  try {
    await ledger.work.begin(writer.id, index);
  } catch (error) {
    throw new StateFolderError(ledger.work.folder, error, { hint: NOT_SENT });
  }
  if (!line) return AT_ONCE;
  const { taskId } = workOf(writer.record);
  const over = new AbortController();
  const renewing = renew(writer, index, clock, over.signal);
  try {
    const order = `${writer.id}-${String(index).padStart(2, "0")}`;
    const onWait = (waiting: Waiting) => deps.onProgress({ type: "progress", taskId, share: null, waiting });
    return await placeAndTurn(connection.provider, (how) => line.take(order, how), { signal, onWait });
  } catch (error) {
    if (error instanceof ImggenError || signal.aborted) throw error;
    throw new StateFolderError(ledger.folder, error, { hint: NOT_SENT });
  } finally {
    over.abort();
    await renewing;
  }
}

/** Waits for a place at the provider first: a turn would run out meanwhile. */
async function placeAndTurn(
  provider: Provider,
  take: (how: WaitHow) => Promise<Turn>,
  how: WaitHow,
): Promise<Turn> {
  const leave = (await provider.place?.(how)) ?? (() => {});
  try {
    const turn = await take(how);
    return { release: (keepMs) => turn.release(keepMs).finally(leave) };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Keeps a waiting task in this process's hands for as long as it lives and works on it. */
async function renew(
  writer: TaskWriter,
  index: number,
  clock: TaskDeps["clock"],
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      if (!writer.isWaitCovered(index)) await writer.wait(index, null, false);
      await clock.sleep(WAIT_MS / 4, signal);
    }
  } catch {
    // Its turn has come, or it was given up.
  }
}
