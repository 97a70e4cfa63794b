#!/usr/bin/env node
import { Command, CommanderError } from "commander";
import { ConfigError, QkvError } from "../base/errors.ts";
import { version } from "../node/version.ts";
import { launchedAs } from "../processes/launcher.ts";
import { bareCommand, type CommandName, commandNames } from "./commands.ts";
import { told } from "./flag-words.ts";

/** Where the whole of each command is. */
const load: Readonly<Record<CommandName, () => Promise<Command>>> = {
  train: async () => (await import("./train.ts")).train,
  info: async () => (await import("./info.ts")).info,
  eval: async () => (await import("./eval.ts")).evalCommand,
  generate: async () => (await import("./generate.ts")).generate,
  classify: async () => (await import("./classify.ts")).classify,
  tag: async () => (await import("./tag.ts")).tag,
  translate: async () => (await import("./translate.ts")).translate,
  embed: async () => (await import("./embed.ts")).embed,
  fill: async () => (await import("./fill.ts")).fill,
  look: async () => (await import("./look.ts")).lookCommand,
  cost: async () => (await import("./cost.ts")).costCommand,
  export: async () => (await import("./export.ts")).exportCommand,
  merge: async () => (await import("./merge.ts")).mergeCommand,
  pull: async () => (await import("./pull.ts")).pullCommand,
  import: async () => (await import("./import.ts")).importCommand,
  serve: async () => (await import("./serve.ts")).serve,
  studio: async () => (await import("./studio.ts")).studioCommand,
  recipes: async () => (await import("./recipes.ts")).recipesCommand,
  study: async () => (await import("./study.ts")).studyCommand,
  bench: async () => (await import("./bench.ts")).bench,
  check: async () => (await import("./check.ts")).check,
};

/** The command that is at work. */
let running: Command | undefined;

/** All commands; whole is only the one that these words call, or ask help for. */
async function programFor(words: readonly string[]): Promise<Command> {
  const program = new Command("qkv")
    .description("Transformers in TypeScript: train them, look inside them, ship them.")
    .version(version())
    .hook("preAction", (_, command) => {
      running = command;
      const divided = ["train", "eval", "study"].includes(command.name()) || command.opts().in !== undefined;
      if (!divided && (launchedAs()?.rank ?? 0) > 0) process.exit(0); // of many ranks one does what cannot be divided
    });
  const [first, second] = words.filter((word) => !word.startsWith("-"));
  const called = first === "help" ? second : first;
  for (const name of commandNames) program.addCommand(name === called ? await load[name]() : bareCommand(name).option("--json")); // all have flags
  for (const command of [program, ...program.commands]) command.exitOverride().showHelpAfterError("(add --help for what there is)");
  return program;
}

/** 0 done, 1 failed, 2 wrong usage (a flag that there is not, or a value that makes no sense). Commander prints its own sentence; everything else is one sentence here, never a stack trace. */
function exitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof QkvError) {
    console.error(`${error.name}: ${told(error, running)}`);
    return error instanceof ConfigError ? 2 : 1;
  }
  console.error(`unexpected, and a mistake in qkv: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env.QKV_TRACE) console.error(error);
  return 1;
}

// Whoever listened may have gone (a closed terminal, `| head`); the work goes on without them. A full disk is another matter.
process.stderr.on("error", () => {});
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  console.error(`RunError: the result could not be written: ${error.message}`);
  process.exitCode = 1;
});

try {
  const program = await programFor(process.argv.slice(2));
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCode(error);
}
