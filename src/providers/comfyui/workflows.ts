import { errorText } from "../../lib/error-text.ts";
import type { WorkOptions } from "../../task/intent.ts";
import type { GeneratorOptions } from "../kind.ts";
import { ProviderError, unsendable } from "../provider.ts";
import { CLASSIC } from "./classic-graph.ts";
import type { Graph } from "./graph.ts";
import { keepWorkflow, keptWorkflow, readWorkflow, type Workflow } from "./workflow-file.ts";

/** The workflows of a provider's tasks: that of the user's file for new ones, the kept copies for all. */
export class Workflows {
  readonly #file: GeneratorOptions["workflow"];
  readonly #folder: string | undefined;
  readonly #graphs = new Map<string, Graph>();

  /** @param folder of the private copies; undefined: none is kept, and there is no task */
  constructor(file: GeneratorOptions["workflow"], folder: string | undefined) {
    this.#file = file;
    this.#folder = folder;
  }

  /** Reads the user's file, and keeps it; null where the classic workflow is used. @throws UsageError, ProviderError */
  async fromFile(): Promise<Workflow | null> {
    if (this.#file === undefined) return null;
    const workflow = readWorkflow(this.#file.path, this.#file.label);
    this.#graphs.set(workflow.sha256, workflow.graph);
    if (this.#folder !== undefined) await this.#keep(workflow, this.#folder);
    return workflow;
  }

  /** The workflow of a task. @throws ProviderError where its copy cannot be used */
  of({ workflow }: Pick<WorkOptions, "workflow">): Graph {
    if (workflow === undefined) return CLASSIC;
    const kept = this.#graphs.get(workflow);
    if (kept !== undefined) return kept;
    try {
      if (this.#folder === undefined) throw new Error("none is kept");
      const graph = keptWorkflow(workflow, this.#folder);
      this.#graphs.set(workflow, graph);
      return graph;
    } catch (cause) {
      const message = `The workflow of the task cannot be used: ${errorText(cause)}.`;
      throw unsendable(message, { cause });
    }
  }

  async #keep(workflow: Workflow, folder: string): Promise<void> {
    try {
      await keepWorkflow(workflow, folder);
    } catch (cause) {
      const message = `Nothing was sent: the workflow cannot be kept in ${folder}: ${errorText(cause)}.`;
      const hint = "Free some space or fix the folder.";
      throw new ProviderError(message, { kind: "unsent" }, { cause, hint });
    }
  }
}
