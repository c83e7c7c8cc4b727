import { finished } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type ByteSink, type Flow, TransportError } from "./transport.ts";

type Decoder = ReturnType<typeof createGunzip | typeof createBrotliDecompress>;

/** By the Content-Encoding header. Bytes of any other encoding are taken as they are. */
const DECODERS: Readonly<Record<string, () => Decoder>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The first byte of every gzip file. No image begins with it. */
const GZIP_BYTE = 0x1f;

/**
 * Decompresses a download on its way to a sink. None is requested compressed, but some servers and proxies do it anyway.
 * A body that is said to be gzip and is not passes as it is: the header of some stored files is wrong.
 */
export class DecodingSink implements ByteSink {
  readonly #sink: ByteSink;
  #encoding = "";
  #decoder: Decoder | null = null;
  #hasBegun = false;
  #ended: Promise<void> | null = null;
  #failure: Error | null = null;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  /** Says how the bytes are encoded that will be written. @param header Content-Encoding */
  decode(header: string | string[] | undefined): void {
    this.#encoding = String(header ?? "")
      .trim()
      .toLowerCase();
  }

  /** @throws why the bytes before these could not be decompressed, or what the sink has thrown */
  write(chunk: Buffer, flow: Flow): void {
    if (!this.#hasBegun) this.#begin(chunk[0]);
    if (this.#failure !== null) throw this.#failure;
    if (this.#decoder === null) this.#sink.write(chunk, flow);
    else if (!this.#decoder.write(chunk)) this.#holdBack(this.#decoder, flow);
  }

  /** Waits until the sink has the last byte. @throws TransportError whose cause is what `write` would throw */
  async finish(): Promise<void> {
    this.#decoder?.end();
    await this.#ended;
    const cause = this.#failure;
    if (cause !== null) throw new TransportError(cause.message, { sent: true, cause });
  }

  /** Gives the sink no more bytes. */
  abandon(): void {
    this.#decoder?.destroy();
  }

  #begin(first: number | undefined): void {
    this.#hasBegun = true;
    if (this.#encoding.endsWith("gzip") && first !== GZIP_BYTE) return;
    const decoder = DECODERS[this.#encoding]?.() ?? null;
    if (decoder === null) return;
    this.#decoder = decoder;
    const flow = { pause: () => void decoder.pause(), resume: () => void decoder.resume() };
    decoder.on("data", (chunk: Buffer) => {
      try {
        this.#sink.write(chunk, flow);
      } catch (error) {
        this.#failure ??= asError(error);
        decoder.destroy();
      }
    });
    this.#ended = finished(decoder).catch((error: unknown) => {
      this.#failure ??= new Error(`it could not be decompressed (${asError(error).message})`);
    });
  }

  /** Holds the sender back until the decoder has caught up, or has failed, which the next write says. */
  #holdBack(decoder: Decoder, flow: Flow): void {
    flow.pause();
    const resume = () => {
      decoder.off("drain", resume).off("close", resume);
      flow.resume();
    };
    decoder.on("drain", resume).on("close", resume);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
