// Makes the pictures of the docs again: runs every command of the tour, in its order and as it is printed, and keeps what comes out.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tour = join(root, "docs/tour");
const work = join(root, "runs/tour");
const qkv = `"${process.execPath}" "${join(root, "dist/cli/main.js")}"`;

rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
writeFileSync(join(work, "package.json"), '{ "private": true }\n');

const pages = readdirSync(tour).filter((name) => /^\d.*\.md$/.test(name));
for (const page of pages.sort()) {
  const blocks = readFileSync(join(tour, page), "utf8").matchAll(/```sh\n(.*?)```/gs);
  for (const command of [...blocks].flatMap(([, block]) => block.trim().split("\n"))) {
    console.log(`\n$ ${command}\n`);
    execFileSync("sh", ["-c", command.replace("npx qkv", qkv)], { cwd: work, stdio: "inherit" });
  }
}

const pictures = readdirSync(join(work, "pictures"));
mkdirSync(join(root, "docs/pictures"), { recursive: true });
for (const name of pictures) copyFileSync(join(work, "pictures", name), join(root, "docs/pictures", name));
console.log(`\n${pictures.length} pictures in docs/pictures`);
