import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { type ByteSink, type Flow, TransportError } from "./transport.ts";

type Decoder = ReturnType<typeof createGunzip | typeof createBrotliDecompress>;

/** The first byte of every gzip file. No image begins with it. */
const GZIP_BYTE = 0x1f;

/** Makes a decoder, given the first byte; null for bytes that are not encoded after all. */
type MakeDecoder = (first: number) => Decoder | null;

const gunzip: MakeDecoder = (first) => (first === GZIP_BYTE ? createGunzip() : null);

/** By the name of the encoding. Bytes of any other one are taken as they are. */
const DECODERS: ReadonlyMap<string, MakeDecoder> = new Map<string, MakeDecoder>([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  // `deflate` means zlib's format, but some servers send raw deflate. In zlib's the low four bits of the first byte are 8.
  ["deflate", (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ["br", () => createBrotliDecompress()],
]);

/**
 * Decompresses a download on its way to a sink. None is requested compressed, but some servers and proxies do it anyway.
 * A body that is said to be gzip and is not passes as it is: the header of some stored files is wrong.
 */
export class DecodingSink implements ByteSink {
  readonly #sink: ByteSink;
  #makeDecoder: MakeDecoder | undefined;
  #decoder: Decoder | null = null;
  #hasBegun = false;
  #isPaused = false;
  #failure: Error | null = null;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  /** Says how the bytes are encoded that will be written. @param header Content-Encoding */
  decode(header: string | string[] | undefined): void {
    const names = String(header ?? "")
      .toLowerCase()
      .split(",");
    const applied = names.map((name) => name.trim()).filter((name) => name !== "" && name !== "identity");
    this.#makeDecoder = applied.length === 1 ? DECODERS.get(applied[0] ?? "") : undefined;
  }

  /** @throws why the bytes before these could not be decompressed, or what the sink has thrown */
  write(chunk: Buffer, flow: Flow): void {
    if (!this.#hasBegun) this.#begin(chunk[0] ?? 0);
    if (this.#failure !== null) throw this.#failure;
    if (this.#decoder === null) this.#sink.write(chunk, flow);
    else if (!this.#decoder.write(Buffer.from(chunk))) this.#pause(this.#decoder, flow);
  }

  /** Waits until the sink has the last byte. @throws TransportError whose cause is what `write` would throw */
  async finish(): Promise<void> {
    const decoder = this.#decoder;
    if (decoder !== null && !decoder.destroyed) {
      await new Promise<void>((resolve) => {
        decoder.once("end", resolve).once("close", resolve);
        decoder.end();
      });
    }
    const cause = this.#failure;
    if (cause !== null) throw new TransportError(cause.message, { sent: true, cause });
  }

  /** Gives the sink no more bytes. */
  abandon(): void {
    this.#decoder?.destroy();
  }

  #begin(first: number): void {
    this.#hasBegun = true;
    const decoder = this.#makeDecoder?.(first) ?? null;
    if (decoder === null) return;
    this.#decoder = decoder;
    const flow = { pause: () => void decoder.pause(), resume: () => void decoder.resume() };
    decoder.on("data", (chunk: Buffer) => {
      try {
        this.#sink.write(chunk, flow);
      } catch (error) {
        this.#failure ??= error instanceof Error ? error : new Error(String(error));
        decoder.destroy();
      }
    });
    // It comes before `close`, at which the sender continues and must learn of it.
    decoder.on("error", ({ message }) => {
      this.#failure ??= new Error(`it could not be decompressed (${message})`);
    });
  }

  /** Pauses the sender until the decoder has caught up, or has failed, which the next write says. */
  #pause(decoder: Decoder, flow: Flow): void {
    if (this.#isPaused || decoder.destroyed) return;
    this.#isPaused = true;
    flow.pause();
    const resume = () => {
      decoder.off("drain", resume).off("close", resume);
      this.#isPaused = false;
      flow.resume();
    };
    decoder.on("drain", resume).on("close", resume);
  }
}
