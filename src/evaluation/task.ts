import { ConfigError } from "../base/errors.ts";
import { call, sentence } from "../base/sentence.ts";
import type { OpenRun } from "../runs/folder.ts";
import type { Task } from "../text/examples.ts";

const does: Readonly<Record<Task, { readonly what: string; readonly command: string }>> = {
  lm: { what: "continues text", command: "generate" },
  classify: { what: "classifies", command: "classify" },
  tag: { what: "tags", command: "tag" },
  translate: { what: "translates", command: "translate" },
};

/** A run that was trained for something else is refused, with the command that it is for. */
export function requireTask({ folder, config }: OpenRun, task: Task): void {
  if (config.task === task) return;
  const { what, command } = does[config.task];
  throw new ConfigError(sentence`${folder}: this run ${what}; use ${call(command, folder)}`, { code: "config.task" });
}
