#!/usr/bin/env node
import { Command } from "commander";
import { bench } from "./bench.ts";

const program = new Command("qkv").description("Transformers in TypeScript: train them, look inside them, ship them.").addCommand(bench);
await program.parseAsync();
