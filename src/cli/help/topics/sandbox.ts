import type { Topic } from "../topic-names.ts";

export const TOPIC: Topic = [
  "The sandbox is the whole service on this machine: free, offline, with images, credits and errors of its own.",
  "",
  "Two ways to use it:",
  ["--sandbox", "on any command: starts it inside that command, which uses no account and no key"],
  ["imggen sandbox", "serves it until Ctrl-C, and prints the base URL and the key to use"],
  "",
  "Keys:",
  ["sk-sandbox", "has a subscription; --sandbox uses it"],
  ["sk-sandbox-basic", "has no subscription"],
  ["sk-…", "any other: a fresh account with a subscription"],
  "",
  "Tasks, images and the balance survive between runs. To start over, delete the folder sandbox in the state folder.",
];
