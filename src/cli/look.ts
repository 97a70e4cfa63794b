import { extname, resolve } from "node:path";
import { Option } from "commander";
import { ConfigError } from "../base/errors.ts";
import { attentionKinds } from "../inspection/look.ts";
import { type OpenOptions, open } from "../library/trained.ts";
import type { DeviceName } from "../node/devices.ts";
import { paths } from "../runs/folder.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { jsonOf, refuseVain, requireFiniteView } from "../views/checks.ts";
import { type View, type ViewName, type ViewOptions, views } from "../views/views.ts";
import { bareCommand } from "./commands.ts";
import { deviceFlag } from "./device-flag.ts";
import { readLosses } from "./losses.ts";
import { writeOutput } from "./output-file.ts";
import { pngOf } from "./png.ts";
import { countFromZero, wholeNumber } from "./values.ts";

interface Options extends ViewOptions {
  readonly view: ViewName;
  readonly out?: string;
  readonly json?: boolean;
  readonly threads?: number;
  readonly device?: DeviceName;
  readonly adapter?: string;
}

const viewNames = Object.keys(views) as ViewName[];

export const lookCommand = bareCommand("look")
  .addOption(new Option("--view <name>", "what to look at").choices(viewNames).default("attention"))
  .option("--target <text>", "the other side of a pair (default: what the model itself writes)")
  .addOption(new Option("--layer <n>", "one layer, from 0 (default: all)").argParser(countFromZero))
  .addOption(new Option("--head <n>", "one head, from 0 (default: all)").argParser(countFromZero))
  .addOption(new Option("--kind <kind>", "which attention, where there are several").choices(attentionKinds))
  .option("--query <token>", "list which token this one, or the one at this place, attends to most")
  .addOption(new Option("--top <n>", "how many candidates to give (views next and lens)").argParser(wholeNumber))
  .option("--label <name>", "the label, tag or token that an attribution explains (default: the likeliest)")
  .addOption(
    new Option("--position <n>", "the place, from 0, whose tag or next token it explains (default: the last)").argParser(countFromZero),
  )
  .option("--out <file>", "write a .svg, .png, .html or .json file in the place of drawing in the terminal")
  .option("--adapter <folder>", "an adapter to put into the model: a run trained with --lora from it, or a folder that PEFT wrote")
  .addOption(new Option("--threads <n>", "threads of the engine").argParser(wholeNumber))
  .addOption(deviceFlag())
  .option("--json", "print one line of JSON and nothing else")
  .addHelpText("after", `\nViews:\n${viewNames.map((name) => `  ${name.padEnd(13)}${views[name].what}`).join("\n")}`)
  .action(async (folder: string, text: string | undefined, { view: name, out, json, threads, device, adapter, ...options }: Options) => {
    const { needsText, hasPicture, make } = views[name];
    refuseVain(name, options);
    const ending = out === undefined ? undefined : endingOf(out, name, hasPicture);
    if (needsText && text === undefined)
      throw new ConfigError(`the view ${name} needs a text to look at; write it after the run folder: qkv look ${folder} "a text"`);
    if (!needsText && text !== undefined)
      throw new ConfigError(`the view ${name} is the same for every text; leave "${text}" out, or choose another --view`);
    if (out !== undefined) refuseOverwriting(out, folder);
    const warn = (sentence: string) => console.error(`warning: ${sentence}`);
    const view: View = await make({
      run: onceOpened(folder, { threads, device, adapter }),
      losses: () => readLosses(folder),
      text: text ?? "",
      options: { ...options, warn },
    });
    requireFiniteView(name, view);
    if (out !== undefined && ending !== undefined) writeOutput(out, await contentOf(view, ending, warn));
    if (json) console.log(jsonOf(view));
    else console.log(out === undefined ? view.text({ columns: process.stdout.columns ?? 100, colour: hasColours() }) : `wrote ${out}`);
  });

const endings = [".svg", ".png", ".html", ".json"] as const;
type Ending = (typeof endings)[number];

/** How the file is to be written, if it can be. */
function endingOf(out: string, name: ViewName, hasPicture: boolean): Ending {
  const ending = endings.find((known) => known === extname(out).toLowerCase());
  const possible = hasPicture ? endings : [".json"];
  if (ending !== undefined && possible.includes(ending)) return ending;
  const wanted = possible.join(", ").replace(/, ([^,]*)$/, " or $1");
  throw new ConfigError(`--out ${out}: the view ${name} can be written as ${wanted}; choose such a file name`);
}

/** A run without its config or tokenizer would be lost. */
function refuseOverwriting(out: string, folder: string): void {
  const { config, tokenizer } = paths(folder);
  if ([config, tokenizer].some((file) => resolve(file) === resolve(out)))
    throw new ConfigError(`--out ${out}: this file belongs to the run; choose another name`);
}

/** The run, opened when a view first asks. */
function onceOpened(folder: string, options: OpenOptions): () => TrainedModel {
  let run: TrainedModel | undefined;
  return () => {
    run ??= open(folder, options);
    return run;
  };
}

async function contentOf({ svg, html, ...view }: View, ending: Ending, warn: (sentence: string) => void): Promise<Uint8Array | string> {
  if (ending === ".json" || svg === undefined) return `${jsonOf(view)}\n`;
  if (ending === ".svg") return svg();
  if (ending === ".png") return pngOf(svg(), warn);
  return html ? html() : `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>qkv look</title>\n${svg()}\n</html>\n`;
}

const hasColours = (): boolean => process.stdout.isTTY === true && !process.env.NO_COLOR;
