import { Option } from "commander";
import { type CheckEvent, checkDevice, type DeviceCheck } from "../bench/check-device.ts";
import { copiesOf, type DeviceName, deviceNamed } from "../node/devices.ts";
import { bareCommand } from "./commands.ts";
import { deviceFlag } from "./device-flag.ts";
import { addFlags } from "./flags.ts";
import { wholeNumber } from "./values.ts";

interface Options {
  readonly device: DeviceName;
  readonly steps: number;
  readonly threads: number;
  readonly json?: boolean;
}

export const check = addFlags(bareCommand("check"), [
  deviceFlag().default("cpu"),
  new Option("--steps <n>", "steps of each training").argParser(wholeNumber).default(50),
  new Option("--threads <n>", "threads of the processor that it is compared with").argParser(wholeNumber).default(1),
  new Option("--json", "print one line of JSON and nothing else"),
]).action(async ({ device: name, steps, threads, json }: Options) => {
  const device = deviceNamed(name);
  const shows = !json && process.stderr.isTTY;
  const listen = (event: CheckEvent) => {
    if (shows) process.stderr.write(`\r\u001b[2K${"op" in event ? event.op : event.model} …`);
  };
  const found = await checkDevice(device, { steps, threads, listen });
  if (shows) process.stderr.write("\r\u001b[2K");
  console.log(json ? JSON.stringify({ ...found, copies: copiesOf(device) }) : report(found, copiesOf(device)));
  if (!found.agrees) process.exitCode = 1;
});

function report({ device, agrees, ops, training, generation, seconds }: DeviceCheck, copies: string): string {
  const refused = ops.filter((one) => one.refused !== undefined);
  const had = ops.filter((one) => one.cases > 0);
  const count = (of: "cases" | "agree") => had.reduce((sum, one) => sum + one[of], 0);
  const worst = had.reduce((most, { gap }) => Math.max(most, gap), 0);
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return [
    `${device} against the processor, float32; ${seconds.toFixed(0)} s`,
    `ops         ${count("agree")} of ${count("cases")} cases of ${had.length} ops and their gradients agree, the farthest by ${small(worst)}`,
    ...refused.map(({ op, refused: why }) => `            not there: ${op} (${why})`),
    ...had.flatMap(({ wrong }) => (wrong === undefined ? [] : [`            WRONG: ${wrong}`])),
    ...training.map(
      (one) =>
        `training    ${one.model.padEnd(16)}${
          one.wrong === undefined
            ? `${verdict(one.agrees)}: ${one.steps} steps, loss ${one.firstLoss.toFixed(3)} → ${one.lastLoss.toFixed(3)}, losses within ${small(one.lossGap)}, weights within ${small(one.weightGap)}; ${ms(one.msPerStep)} a step, ${ms(one.cpuMsPerStep)} on the processor`
            : `WRONG: ${one.wrong}`
        }`,
    ),
    ...generation.map(
      (one) =>
        `generation  ${one.model.padEnd(16)}${
          one.wrong === undefined
            ? `${verdict(one.agrees)}: ${one.tokens} tokens, scores within ${small(one.scoreGap)}; ${one.tokensPerSecond.toFixed(0)} tokens/s, ${one.cpuTokensPerSecond.toFixed(0)} on the processor`
            : `WRONG: ${one.wrong}`
        }`,
    ),
    `copied in a step of training: ${copies}`,
    agrees ? `${device} agrees with the processor` : `${device} does NOT agree with the processor`,
  ].join("\n");
}

const verdict = (agrees: boolean): string => (agrees ? "agrees" : "WRONG");
const small = (gap: number): string => (gap === 0 ? "0" : gap.toExponential(1));
