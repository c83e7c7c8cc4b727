import { isPresent } from "../lib/durable.ts";
import type { ReadAnswer } from "./answer.ts";
import { replyWithoutImage } from "./failed-reply.ts";
import { settledWithReply } from "./kept-reply.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { type ModelList, modelsAt, withModels } from "./list-models.ts";
import { jsonBody } from "./post-body.ts";
import type { Job, Provider, SubmitHow, SubmitReply } from "./provider.ts";
import type { ProviderServer } from "./provider-http.ts";
import type { ReferenceDeps } from "./reference-files.ts";
import { usageIn, warningsOn } from "./reply-facts.ts";
import { isSuccess, jsonIn, readReplyFile, replyFile, type StoredReply } from "./reply-file.ts";
import { type RequestForm, serverProvider } from "./server-provider.ts";

/** How one service is asked for an image, and answers with it. */
export interface ImageForm extends RequestForm {
  readAnswer: ReadAnswer;
  /** Sends a job's request. Default: what `request` says, once. @throws ProviderError */
  send?(job: Job, how: SubmitHow, context: ReferenceDeps): Promise<StoredReply>;
  /** Absent: it has no list of models. */
  models?: ModelList;
  /** A POST to this path below the base ends its work on an image. Absent: nothing does. */
  stopPath?: string;
}

/** Reads replies that are the image itself. */
export interface AnswerReader {
  /** The outcome of the job's submit. @throws ProviderError */
  read(reply: StoredReply, job: Job): SubmitReply;
  /** As `Provider.images`, from the reply that was kept. */
  images: NonNullable<Provider["images"]>;
}

export function answerReader(server: ProviderServer, readAnswer: ReadAnswer): AnswerReader {
  return {
    read(reply, job) {
      if (!isSuccess(reply)) throw server.failure(reply, job.isPaid);
      const answer = readAnswer(reply, job);
      if (answer.kind === "cut") throw server.lost(reply.cut ?? "it ended before the image did");
      if (answer.kind === "none") throw replyWithoutImage(answer.body, server.asked(job.isPaid));
      return { outcome: "made", usage: usageIn(answer.usage, server.mask) };
    },
    async images(job) {
      const file = replyFile(job);
      const stored = await readReplyFile(file);
      const answer = stored && readAnswer(stored, job);
      // A full disk has not taken its end.
      if ((answer === null || answer.kind === "cut") && isPresent(file))
        throw server.lost(stored?.cut ?? "its end is not on the disk");
      if (answer?.kind !== "images") throw new Error("there is no image in the reply that was kept");
      return answer.images.map((image) =>
        "url" in image ? server.imageAt(image.url) : { kind: "bytes", bytes: image.bytes },
      );
    },
  };
}

/** A service that answers a request with its image. */
export function imageService(
  setup: ServerSetup,
  server: ProviderServer,
  form: ImageForm,
  deps: ProviderDeps,
): Provider {
  const { models, readAnswer, stopPath } = form;
  const { read, images } = answerReader(server, readAnswer);
  const send =
    form.send ??
    (async (job, how, context) => {
      const { path, body } = await form.request(job, context);
      return server.post(path, jsonBody(body, setup.options.fieldNames.seed), job, how);
    });
  const isCut = (reply: StoredReply, job: Job) => readAnswer(reply, job).kind === "cut";
  return {
    ...serverProvider(setup, server, form, { isCut, read }, deps),
    async submit(job, how) {
      const { signal } = how;
      const sent = async (onSent: () => void) => {
        const context = { ...deps, generatorUrl: new URL(setup.url), signal };
        const reply = await send(job, { ...how, onSent }, context);
        try {
          const outcome = read(reply, job);
          for (const warning of warningsOn(jsonIn(reply), server.host)) how.onWarning?.(warning);
          return outcome;
        } catch (error) {
          throw models ? await withModels(error, reply, server, models, signal) : error;
        }
      };
      const reply = await settledWithReply(job, server.mask, sent, how.onSent);
      if (reply.outcome !== "unknown") return reply;
      // A free server that can be told so ends its work where the request is given up.
      const canStop = signal.aborted && !job.isPaid && stopPath !== undefined;
      return { ...reply, isStopped: canStop && (await server.cancel("POST", stopPath)) === true };
    },
    images,
    ...(models && { models: (signal) => modelsAt(server, models, signal) }),
  };
}
