import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

// A GPU in software: SwiftShader, a driver for Vulkan, and Vulkan's loader come with the browser of the page's tests. WebGPU in Node runs on it.

const packed = join(import.meta.dirname, "../../node_modules/@sparticuz/chromium/bin/swiftshader.tar.br");

/** What a process needs in its environment to find it, or why there is none; CI must not go on without one. */
export function softwareGpu(): { readonly env?: Readonly<Record<string, string>>; readonly reason?: string } {
  try {
    if (process.platform !== "linux" || process.arch !== "x64")
      throw new Error(`it is for Linux x64, and this is ${process.platform} ${process.arch}`);
    if (!existsSync(packed)) throw new Error(`${packed} is not there`);
    const folder = mkdtempSync(join(tmpdir(), "qkv-swiftshader-"));
    execFileSync("tar", ["-x", "-C", folder], { input: brotliDecompressSync(readFileSync(packed)) });
    return { env: { LD_LIBRARY_PATH: folder, VK_ICD_FILENAMES: join(folder, "vk_swiftshader_icd.json") } };
  } catch (error) {
    if (process.env.CI) throw error;
    return { reason: `there is no GPU in software here (${error instanceof Error ? error.message.split("\n")[0] : error})` };
  }
}
