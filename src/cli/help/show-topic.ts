import { type Topic, topicLines } from "./topic.ts";
import type { TopicName } from "./topic-names.ts";

const TOPICS: Readonly<Record<TopicName, () => Promise<{ TOPIC: Topic }>>> = {
  "exit-codes": () => import("./topics/exit-codes.ts"),
  environment: () => import("./topics/environment.ts"),
  json: () => import("./topics/json.ts"),
  batch: () => import("./topics/batch.ts"),
  sandbox: () => import("./topics/sandbox.ts"),
  scale: () => import("./topics/scale.ts"),
  uploads: () => import("./topics/uploads.ts"),
};

/** A topic as it is shown in so many columns. */
export async function topicText(name: TopicName, columns: number): Promise<string[]> {
  const { TOPIC } = await TOPICS[name]();
  return topicLines(TOPIC, columns);
}
