import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { contents, expectRefusal, Workplace } from "../support/command.ts";

// The command around a studio: what it prints, what it refuses, and the app as files.

const place = new Workplace();

it("prints the address with its token, and ends with 0 when it is asked to", async () => {
  const running = place.start("studio", "mine", "--port", "0", "--no-open");
  await running.printed(/Ctrl-C/);
  const token = readFileSync(place.path("mine/.studio/token"), "utf8").trim();
  running.signal("SIGINT");
  const { code, stdout } = await running.ended;
  expect(stdout).toMatch(new RegExp(`the studio of ${place.path("mine")} is at\nhttp://127\\.0\\.0\\.1:\\d+/\\?token=${token}\n`));
  expect(code).toBe(0);
});

it("refuses a port that there cannot be, or that is taken, and makes nothing for the first", async () => {
  expectRefusal(await place.qkv("studio", "none", "--port", "70000"), 2, "--port: a whole number from 0 to 65,535");
  expect(existsSync(place.path("none"))).toBe(false);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expectRefusal(
    await place.qkv("studio", "mine", "--port", `${port}`, "--no-open"),
    1,
    "another program listens there; choose another --port",
  );
  server.close();
});

it("refuses a folder that is a file", async () => {
  place.write("file", "text");
  expectRefusal(await place.qkv("studio", "file", "--port", "0", "--no-open"), 1, /is a file|not a folder/);
});

it("writes the app as files that need no server of ours, whole or not at all", async () => {
  const { stdout } = await place.done("studio", "--build", "site", "--json");
  const site = place.path("site");
  const files = readdirSync(site, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(JSON.parse(stdout)).toEqual({ folder: "site", files: files.length, bytes: expect.any(Number) });
  const html = readFileSync(join(site, "index.html"), "utf8");
  expect(html).toContain('<meta name="qkv-place" content="page"');
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
  for (const address of addresses.filter((one) => !one.startsWith("data:"))) {
    expect(address).toMatch(/^\.\//);
    expect(existsSync(join(site, address))).toBe(true);
  }
  for (const name of ["app.js", "style.css", "page/worker.js", "onnxruntime/ort.wasm.min.mjs", "onnxruntime/ort-wasm-simd-threaded.wasm"])
    expect(existsSync(join(site, name)), name).toBe(true);
  expect(files.filter(({ name }) => name.includes("jsep"))).toEqual([]);
  expect(readFileSync(join(site, "_headers"), "utf8")).toMatch(
    /^\/\*\n {2}Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'/,
  );
  await place.done("studio", "--build", "site"); // once more over itself
  place.write("other/thesis.docx", "years of work");
  place.write("page/index.html", "a page of somebody else"); // with names that a studio has too
  place.write("page/notes.txt", "years of work");
  place.write("site/notes.txt", "beside a studio");
  for (const other of ["other", "page", "site"]) {
    const before = contents(place.path(other));
    expectRefusal(await place.qkv("studio", "--build", other), 1, "holds other files");
    expect(contents(place.path(other))).toEqual(before);
  }
});
