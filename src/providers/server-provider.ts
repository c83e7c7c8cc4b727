import { settledWithReply, storedReply } from "./kept-reply.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import type { Job, Provider, SubmitHow, SubmitReply } from "./provider.ts";
import type { ProviderServer } from "./provider-http.ts";
import { type ReferenceDeps, shownContext } from "./reference-files.ts";
import { isSuccess, type StoredReply } from "./reply-file.ts";

/** A request for an image, sent as JSON. */
export interface ServiceRequest {
  /** Below the service's base. */
  path: string;
  body: unknown;
}

/** The context in which a request is made. */
export type JobContext = ReferenceDeps & Pick<SubmitHow, "onWarning">;

/** How one service is asked for an image. */
export interface RequestForm {
  /** As `Provider.check`. */
  check: NonNullable<Provider["check"]>;
  /** @throws ProviderError where it has no place for what is asked */
  request(job: Job, context: JobContext): Promise<ServiceRequest>;
}

/** The check of a service's names of models. @param like the end of a sentence about them */
export function modelNamed(pattern: RegExp, like: string): RequestForm["check"] {
  return ({ options: { model } }) => (model !== null && pattern.test(model) ? null : `A model of ${like}.`);
}

/** How replies to requests are read. */
interface ReplyForm {
  /** Whether a reply of success ends before its image or id. */
  isCut(reply: StoredReply, job: Job): boolean;
  /** The outcome of the job's submit. @throws ProviderError */
  read(reply: StoredReply, job: Job): SubmitReply;
}

/** The part of a provider that all servers have in common. */
export function serverProvider(
  { url, options }: ServerSetup,
  server: ProviderServer,
  form: RequestForm,
  { isCut, read }: ReplyForm,
  deps: ProviderDeps,
) {
  return {
    version: 1,
    limits: { concurrency: options.concurrency, submitMs: options.timeoutMs },
    check: form.check,
    async describe(job: Job) {
      const { path, body } = await form.request(job, shownContext(deps, new URL(url)));
      return server.shown(path, body);
    },
    recover: (job: Job) =>
      settledWithReply(job, server.mask, async (hasSent) => {
        hasSent();
        const stored = await storedReply(job);
        return stored === null || (isSuccess(stored) && isCut(stored, job)) ? null : read(stored, job);
      }),
    close: () => server.close(),
  } as const satisfies Partial<Provider>;
}
