import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandNames } from "../src/cli/commands.ts";

// Only the command line names its flags and commands. What the library says names settings and functions, as marks of a sentence.

const root = join(import.meta.dirname, "../src");
const files = (readdirSync(root, { recursive: true }) as string[]).filter((file) => file.endsWith(".ts") && !file.startsWith("cli/"));
/** Custom properties of a style sheet look like flags. */
const styles = /^(pictures\/page|server\/try)\.bundle\.ts$/;

const withoutComments = (code: string): string => code.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*/gm, "");

it("no string outside cli holds a flag or a command", () => {
  const flag = /(?<![\w-])--[a-z][\w-]*/;
  const command = new RegExp(`\\bqkv (${commandNames.join("|")}|\\$)`);
  const foreign = /npm install [\w-]+ --ignore-scripts|llama-cli -m|--expose-gc|--to > from|\[--i\]/; // npm's own, llama.cpp's and Node's, and numbers that go down
  const found = files
    .filter((file) => !styles.test(file))
    .flatMap((file) =>
      withoutComments(readFileSync(join(root, file), "utf8"))
        .split("\n")
        .filter((line) => (flag.test(line) || command.test(line)) && !foreign.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
  expect(found).toEqual([]);
});
