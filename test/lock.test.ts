import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface Locked {
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as {
  packages: Record<string, Locked>;
};

// ONNX Runtime's install script fetches CUDA libraries, and fails where only the npm registry is reached. npm runs the scripts that the lock file
// announces; newer ones ask package.json's allowScripts too. When the package is updated, npm writes "hasInstallScript" again: take it out.

it("the lock announces no install script", () => {
  expect(Object.keys(packages)).toContain("node_modules/onnxruntime-node");
  expect(Object.keys(packages).filter((name) => packages[name].hasInstallScript)).toEqual([]);
});

// What other systems need must be there too, or `npm ci` refuses everywhere, and `npm install` leaves it out there. Where a registry does not have such a package, npm leaves
// it out of the lock: write its version, os and cpu by hand.

it("the lock has the packages of all systems", () => {
  const missing = Object.entries(packages).flatMap(([at, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !packages[`${at}/node_modules/${name}`] && !packages[`node_modules/${name}`]),
  );
  expect(missing).toEqual([]);
});
