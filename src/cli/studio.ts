import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { Option } from "commander";
import { buildStudio } from "../studio/build.ts";
import { House } from "../studio/house.ts";
import { checkPort, listen } from "../studio/listen.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";
import { signals } from "./interrupt.ts";
import { countFromZero, wholeNumber } from "./values.ts";

interface Options {
  readonly port: number;
  readonly open: boolean;
  readonly threads?: number;
  readonly build?: string;
  readonly json?: boolean;
}

const flags: readonly Option[] = [
  new Option("--port <n>", "the port on this machine; 0 for any that is free").argParser(countFromZero).default(8090),
  new Option("--no-open", "do not open the browser; the address is printed in any case"),
  new Option("--threads <n>", "threads of each process that computes").argParser(wholeNumber),
  new Option("--build <folder>", "write the app as files for any web server in the place of starting it: it computes in the page then"),
  new Option("--json", "one line of JSON on standard output when it can be opened"),
];

export const studioCommand = addFlags(bareCommand("studio"), flags);

studioCommand.action(async (folder = "runs", { port, open, threads, build, json }: Options) => {
  if (build !== undefined) {
    const built = await buildStudio(build);
    const size = (built.bytes / 1e6).toFixed(1);
    if (json) console.log(JSON.stringify(built));
    else console.log(`the studio is in ${built.folder}: ${built.files} files, ${size} MB, for any web server (see its _headers)`);
    return;
  }
  checkPort(port);
  const say = (sentence: string) => void process.stderr.write(`${sentence}\n`);
  const house = new House(folder, { ...(threads !== undefined && { threads }), say });
  const listening = await listen(house, { port }).catch(async (error) => {
    await house.close();
    throw error;
  });
  const stop = stopping();
  const { url } = listening;
  if (json) console.log(JSON.stringify({ url, port: listening.port, pid: process.pid, folder: house.folder }));
  else console.log(`the studio of ${resolve(folder)} is at\n${url}\n(Ctrl-C ends it; trainings are saved before)`);
  if (open && !json) show(url);
  await stop;
  const count = house.trainings;
  if (count > 0)
    say(
      `saving ${count === 1 ? "a training, which goes on" : `${count} trainings, which go on`} when the studio starts again; once more to stop at once`,
    );
  await listening.close();
  process.exitCode = 0;
});

/** The first signal asks to stop; a second ends at once. */
function stopping(): Promise<void> {
  let asked = false;
  return new Promise((resolve) => {
    for (const signal of signals)
      process.on(signal, () => {
        if (asked) process.exit(130);
        asked = true;
        resolve();
      });
  });
}

/** Opens the browser, where there is one. */
function show(url: string): void {
  const [command, ...words] =
    process.platform === "darwin" ? ["open", url] : process.platform === "win32" ? ["cmd", "/c", "start", "", url] : ["xdg-open", url];
  try {
    const child = spawn(command, words, { detached: true, stdio: "ignore" });
    child.on("error", () => {}); // the address is on the screen
    child.unref();
  } catch {
    // the same
  }
}
