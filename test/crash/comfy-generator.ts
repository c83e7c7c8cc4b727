import type { Server } from "node:http";
import { type ComfyDouble, comfyDouble } from "../support/comfyui.ts";
import { png } from "../support/images.ts";
import { listenHere } from "../support/live-server.ts";
import type { CrashGenerator } from "./generator-world.ts";

/** A ComfyUI server: the id of a job is imggen's, and the server knows what became of it. */
export class ComfyGenerator implements CrashGenerator {
  onMoment: CrashGenerator["onMoment"] = () => false;
  readonly words = ["--model", "dream.safetensors"];
  #server: Server | null = null;
  #double: ComfyDouble | null = null;

  async listen(): Promise<void> {
    this.#double = await comfyDouble({}, (server) => {
      this.#server = server;
      return listenHere(server);
    });
    // A request has had its effect by then.
    this.#double.cuts = (method, target) => {
      const sent = `${method} /${target.split(/[/?]/)[1]}`;
      return this.onMoment(this.requests > 0 && method === "GET" ? `${sent} of a job` : sent);
    };
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  get spec(): string {
    return `comfyui:${this.#double?.url}`;
  }

  get requests(): number {
    return this.#double?.submits.length ?? 0;
  }

  get made(): Buffer[] {
    return Array.from({ length: this.#double?.worked ?? 0 }, (_, at) => png(at + 1));
  }

  forget(): void {
    this.#double?.restart();
  }
}
