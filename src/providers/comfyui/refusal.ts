import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { inOneLine, listed, shortened } from "../../lib/short-text.ts";
import { type Asked, type FailedReply, failedReply } from "../failed-reply.ts";
import { ProviderError } from "../provider.ts";
import { lenientJson } from "../reply-json.ts";
import { type Graph, nodeName } from "./graph.ts";

const MOST_LISTED = 6;
const LONGEST_DETAIL = 300;

/** What a refusal of a workflow means, with each node's title, its input and the reason. */
export function workflowRefusal(reply: FailedReply, graph: Graph, asked: Asked): ProviderError {
  const error = failedReply(reply, asked);
  if (reply.status !== 400) return error;
  const json = fieldsOf(lenientJson(String(reply.body)));
  const reasons = Object.entries(fieldsOf(json.node_errors)).flatMap(([id, each]) =>
    reasonsAt(id, each, graph),
  );
  if (reasons.length === 0) return error;
  const reason = asked.mask(listed(reasons, MOST_LISTED, "; "));
  const message = `${asked.host} does not take the workflow: ${reason}.`;
  return new ProviderError(message, { kind: "invalid" }, { cause: error });
}

function reasonsAt(id: string, value: unknown, graph: Graph): string[] {
  const { errors, class_type } = fieldsOf(value);
  if (!Array.isArray(errors)) return [];
  const node = graph.get(id);
  const name = node ? nodeName(id, node) : `${class_type} (${id})`;
  return errors.filter(isJsonObject).map((error) => `${name}, ${reasonIn(error)}`);
}

/** The input and the reason: the server's details mostly begin with the input. */
function reasonIn({ message, details, extra_info }: Record<string, unknown>): string {
  const { input_name } = fieldsOf(extra_info);
  const input = typeof input_name === "string" ? input_name : "";
  const [detail, general] = [wordsIn(details), wordsIn(message)];
  const said = detail === "" || detail === input ? general : detail;
  return input === "" || said.startsWith(input) ? said : `${input}: ${said}`;
}

function wordsIn(value: unknown): string {
  return typeof value === "string" ? shortened(inOneLine(value), LONGEST_DETAIL) : "";
}
