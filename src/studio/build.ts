import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { RunError } from "../base/errors.ts";
import { writeWholeFolder } from "../disk/whole-folder.ts";
import { appFiles, engineFolder } from "./app-files.ts";
import { safeHeaders } from "./headers.ts";

// The app as files for any web server: it computes in the page. All addresses in it are relative, so it may lie under any path.

/** Hosts that read such a file send the headers; with others the page computes with one thread. */
const headersFile = "_headers";

/** All files of a build, by which the next one knows what it may replace: a page of somebody else has an index.html too. */
const listFile = "studio.json";
const listed = z.object({ files: z.array(z.string()) });

function builtBefore(folder: string): ReadonlySet<string> {
  try {
    return new Set(listed.parse(JSON.parse(readFileSync(join(folder, listFile), "utf8"))).files);
  } catch {
    return new Set(); // there is none
  }
}

export interface Built {
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
}

export async function buildStudio(folder: string, app?: string): Promise<Built> {
  const files = appFiles(app);
  if (engineFolder() === undefined)
    throw new RunError(
      "a page computes with onnxruntime-web, which is not installed here; get it with: npm install onnxruntime-web@1.30, and build again",
      { code: "run.missing" },
    );
  let bytes = 0;
  const before = builtBefore(folder);
  const all = [...files.keys(), headersFile, listFile];
  try {
    await writeWholeFolder({ folder, overwrite: true, what: "the studio", owns: (file) => before.has(file) }, (temporary) => {
      for (const [name, { path }] of files) {
        mkdirSync(dirname(join(temporary, name)), { recursive: true });
        copyFileSync(path, join(temporary, name));
      }
      const lines = Object.entries(safeHeaders).map(([name, value]) => `  ${name}: ${value}\n`);
      writeFileSync(join(temporary, headersFile), `/*\n${lines.join("")}`);
      writeFileSync(join(temporary, listFile), `${JSON.stringify({ files: all } satisfies z.output<typeof listed>)}\n`);
      bytes = [...files.values()].reduce((sum, { size }) => sum + size, 0);
    });
  } catch (error) {
    if (!(error instanceof RunError) || error.code !== "run.exists") throw error;
    throw new RunError(`${folder} holds other files than those of a studio; choose a folder that is new, or empty`, { code: "run.exists" });
  }
  return { folder, files: all.length, bytes };
}
