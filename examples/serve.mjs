// Serves this project's folder to a browser: `node serve.mjs [port]`. The two headers isolate its pages, so that WebAssembly may have threads; any server that sends
// them does as well.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

function pathOf(url) {
  try {
    return normalize(decodeURIComponent(new URL(url, "http://localhost").pathname));
  } catch {
    return ""; // it is no address, and nothing is there
  }
}

const server = createServer(({ url }, answer) => {
  const path = pathOf(url);
  const file = join(process.cwd(), path.endsWith("/") ? `${path}index.html` : path);
  answer.setHeader("Cross-Origin-Opener-Policy", "same-origin");
  answer.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory() && path !== "") return answer.writeHead(302, { Location: `${path}/` }).end();
  if (!found?.isFile()) return answer.writeHead(404).end("not found");
  answer.setHeader("Content-Type", types[extname(file)] ?? "application/octet-stream");
  answer.setHeader("Content-Length", found.size).setHeader("Last-Modified", found.mtime.toUTCString());
  createReadStream(file).pipe(answer);
});
server.listen(Number(process.argv[2] ?? 8000), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
