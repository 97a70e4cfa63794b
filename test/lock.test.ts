import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

// ONNX Runtime's install script fetches CUDA libraries, and fails where only the npm registry is reached. npm runs the scripts that the lock file
// announces; newer ones ask package.json's allowScripts too. When the package is updated, npm writes "hasInstallScript" again: take it out.

it("the lock announces no install script", () => {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  expect(Object.keys(packages)).toContain("node_modules/onnxruntime-node");
  expect(Object.keys(packages).filter((name) => packages[name].hasInstallScript)).toEqual([]);
});
