#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { ConfigError, QkvError } from "../base/errors.ts";
import { bench } from "./bench.ts";
import { classify } from "./classify.ts";
import { costCommand } from "./cost.ts";
import { evalCommand } from "./eval.ts";
import { generate } from "./generate.ts";
import { info } from "./info.ts";
import { lookCommand } from "./look.ts";
import { recipesCommand } from "./recipes.ts";
import { studyCommand } from "./study.ts";
import { tag } from "./tag.ts";
import { train } from "./train.ts";
import { translate } from "./translate.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };

const program = new Command("qkv")
  .description("Transformers in TypeScript: train them, look inside them, ship them.")
  .version(version)
  .addCommand(train)
  .addCommand(info)
  .addCommand(evalCommand)
  .addCommand(generate)
  .addCommand(classify)
  .addCommand(tag)
  .addCommand(translate)
  .addCommand(lookCommand)
  .addCommand(costCommand)
  .addCommand(recipesCommand)
  .addCommand(studyCommand)
  .addCommand(bench);

/** 0 done, 1 failed, 2 wrong usage (a flag that there is not, or a value that makes no sense). Commander prints its own sentence; everything else is one sentence here, never a stack trace. */
function exitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const known = error instanceof QkvError;
  const text = error instanceof Error ? error.message : String(error);
  console.error(known ? `${error.name}: ${text}` : `unexpected, and a mistake in qkv: ${text}`);
  if (!known && process.env.QKV_TRACE) console.error(error);
  return error instanceof ConfigError ? 2 : 1;
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride().showHelpAfterError("(add --help for what there is)");
  for (const part of command.commands) throwInsteadOfExit(part);
}

// Whoever listened may have gone (a closed terminal, `| head`); the work goes on without them. A full disk is another matter.
process.stderr.on("error", () => {});
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  console.error(`RunError: the result could not be written: ${error.message}`);
  process.exitCode = 1;
});

throwInsteadOfExit(program);
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCode(error);
}
