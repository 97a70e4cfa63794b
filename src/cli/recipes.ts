import { recipe, recipes } from "../recipes/index.ts";
import { bareCommand } from "./commands.ts";
import { inFlags } from "./flag-words.ts";

export const recipesCommand = bareCommand("recipes")
  .option("--json", "print one line of JSON and nothing else")
  .action((name: string | undefined, { json }: { json?: boolean }) => {
    const chosen = (name === undefined ? recipes : [recipe(name)]).map(({ settings, ...one }) => ({
      name: one.name,
      task: one.task,
      teaches: inFlags(one.teaches),
      result: one.result,
      ...(name !== undefined && { quick: settings(false), full: settings(true) }),
    }));
    console.log(json ? JSON.stringify({ recipes: chosen }) : chosen.map(report).join("\n\n"));
  });

interface Facts {
  readonly name: string;
  readonly task: string;
  readonly teaches: string;
  readonly result: string;
  readonly quick?: object;
  readonly full?: object;
}

function report({ name, task, teaches, result, quick, full }: Facts): string {
  const settings = quick && full ? [`quick    ${JSON.stringify(quick)}`, `full     ${JSON.stringify(full)}`] : [];
  return [`${name} (${task})`, `teaches  ${teaches}`, `result   ${result}`, ...settings, `train    npx qkv train --recipe ${name}`].join(
    "\n",
  );
}
