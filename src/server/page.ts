import { scriptHash, styleHash, tryScript, tryStyle } from "./try.bundle.ts";

/** GET /: a page to try a model. It is one file, and its policy allows its own script and style and nothing else. */
export function tryPage(): Response {
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${scriptHash}'`,
    `style-src 'sha256-${styleHash}'`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>qkv</title>
<link rel="icon" href="data:,">
<style>${tryStyle}</style>
<main id="app"></main>
<script>${tryScript}</script>
</html>
`;
  return new Response(html, {
    headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Cache-Control": "no-store" },
  });
}
