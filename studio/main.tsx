import { render } from "preact";
import * as z from "zod";
import type { Computer } from "../src/worker/computer.ts";
import { begin } from "./compute/place.ts";
import { Shell } from "./shell.tsx";
import { goOn } from "./stores/going.ts";
import { forgetAll, messageOf } from "./stores/models.ts";
import { refreshRuns, runsError } from "./stores/runs.ts";

z.config({ jitless: true }); // the page's policy allows no eval

const app = document.getElementById("app");
if (!app) throw new Error("the page has no place for the app");
app.replaceChildren();
render(<Shell />, app);

/** Whenever there is somebody new who computes: what was open is not open there, and what goes on is followed again. */
async function connected(computer: Computer): Promise<void> {
  forgetAll();
  await refreshRuns();
  await goOn(computer);
}

void begin((computer) => {
  connected(computer).catch((error) => {
    runsError.value = messageOf(error);
  });
});
