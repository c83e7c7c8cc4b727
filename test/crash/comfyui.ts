import type { Server } from "node:http";
import { type ComfyDouble, comfyDouble } from "../support/comfyui.ts";
import { png } from "../support/images.ts";
import { listenHere } from "../support/scripted-server.ts";
import type { Charge, Double } from "./double.ts";
import { type Stage, StageWatch } from "./stages.ts";

/** A ComfyUI server: the id of a job is imggen's, and the server knows what became of it. It can only be killed at. */
export class CrashComfyui implements Double {
  readonly posted: string[] = [];
  readonly polled = new Set<string>();
  watch = new StageWatch(null);
  #server: Server | null = null;
  #double: ComfyDouble | null = null;

  async listen(): Promise<void> {
    this.#double = await comfyDouble({}, (server) => {
      this.#server = server;
      return listenHere(server);
    });
    // A request has had its effect by then.
    this.#double.cuts = (method, target) => this.watch.strikes(this.#stageOf(method, target), null);
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  get origin(): string {
    return this.#double?.url ?? "";
  }

  get posts(): number {
    return this.#double?.submits.length ?? 0;
  }

  get charges(): Charge[] {
    const { submits = [], worked = 0 } = this.#double ?? {};
    // What equals an earlier job is answered from the server's cache.
    return submits.map(({ prompt_id, prompt }, at) => ({
      taskId: prompt_id,
      prompt: /"text":"([^"]+)"/.exec(JSON.stringify(prompt))?.[1] ?? "",
      images: [png(Math.min(at + 1, worked))],
      reply: Buffer.from(prompt_id),
    }));
  }

  forget(): void {
    this.#double?.restart();
  }

  #stageOf(method: string, target: string): Stage {
    if (method === "POST") return "submit: charged";
    if (this.posts === 0) return "connected";
    return target.startsWith("/view") ? "download: arrived" : "poll: arrived";
  }
}
