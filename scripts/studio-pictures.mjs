// Pictures of the studio for the docs: its main views at 1280 and 390 pixels, light and dark, into docs/pictures/studio.
// Usage: npm run build && node scripts/studio-pictures.mjs
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeRuns, root, startBrowser, startStudio, temporaryFolder } from "./studio-browser.mjs";

const text = encodeURIComponent("Call me Ishmael. Some years ago, never mind");
const views = {
  learn: { hash: "#learn?run=whale" },
  begin: { hash: "#learn?new=1&data=opinions" },
  map: { hash: `#look?run=whale&text=${text}&pin=20&place=decoder/block.1/attention/pattern` },
  attention: { hash: `#look?run=whale&text=${text}&view=attention&layer=1&head=1&pin=20` },
  causes: { hash: `#look?run=whale&text=${text}&view=causes&cause=sweep`, press: "Start" },
  ask: { hash: `#ask?run=whale&text=${encodeURIComponent("Call me Ishmael. ")}`, press: "Write" },
  translate: { hash: "#ask?run=digits-rnn&text=4%202%207" },
  measure: { hash: "#ask?run=moods&view=measure&wanted=good&said=bad" },
  compare: { hash: "#compare?runs=whale,whale-2-heads,whale-no-positions" },
};

const { folder, remove } = temporaryFolder();
const out = join(root, "docs/pictures/studio");
mkdirSync(out, { recursive: true });
const studio = await startStudio(makeRuns(folder));
const browser = await startBrowser();
for (const [size, width, height] of [
  ["desk", 1280, 860],
  ["phone", 390, 844],
])
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme });
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && console.log(message.type(), message.text()));
    await page.goto(studio.url);
    for (const [name, { hash, press }] of Object.entries(views)) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.waitForTimeout(2500);
      if (press) {
        const button = page.getByRole("button", { name: press, exact: true }).first();
        if (await button.isVisible()) await button.click();
        await page.waitForTimeout(3000);
      }
      await page.screenshot({ path: join(out, `${name}-${size}-${colorScheme}.png`) });
    }
    await page.close();
  }
await browser.close();
await studio.stop();
remove();
