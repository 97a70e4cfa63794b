import { afterEach, expect, it, vi } from "vitest";
import { studyCommand } from "../../src/cli/study.ts";
import { studies } from "../../src/studies/index.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

async function printed(...args: readonly string[]): Promise<string> {
  const lines: unknown[] = [];
  vi.spyOn(console, "log").mockImplementation((line) => lines.push(line));
  await studyCommand
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parseAsync(args, { from: "user" });
  return lines.join("\n");
}

it("lists the studies", async () => {
  expect(await printed()).toMatch(
    /^recurrence\nteaches {2}The RNN's story: .*\nrows {5}rnn, gru, .*; 3 minutes each\nrun {6}npx qkv study recurrence$/m,
  );
  const { studies: listed } = JSON.parse(await printed("--json"));
  expect(listed.map(({ name }: { name: string }) => name)).toEqual(studies.map(({ name }) => name));
});

it("refuses wrong names and times", async () => {
  await expect(printed("reviws")).rejects.toThrow('there is no study called "reviws"; did you mean "reviews"?');
  await expect(printed("toys", "--minutes", "0")).rejects.toThrow(/a number of minutes above 0 is wanted/);
});
