import { resolve } from "node:path";
import { usualThreads } from "../node/machine.ts";
import { version } from "../node/version.ts";
import type { FromWorker } from "../worker/messages.ts";
import { Client, type Rooms } from "./client.ts";
import { Reader } from "./reader.ts";
import { takeStudio, tokenOf } from "./settings.ts";
import { Trainings } from "./trainings.ts";

// A studio without its door: the runs of a folder, the processes that compute, and the pages that ask.

export interface HouseOptions {
  /** Threads of each process, where a training says nothing else. */
  readonly threads?: number;
  /** Told what a person should know and nobody asked for. */
  readonly say?: (sentence: string) => void;
}

export class House {
  readonly folder: string;
  readonly token: string;
  readonly #rooms: Rooms;
  readonly #letGo: () => void;

  constructor(folder: string, { threads, say = () => {} }: HouseOptions = {}) {
    this.folder = resolve(folder);
    this.#letGo = takeStudio(this.folder);
    this.token = tokenOf(this.folder);
    const settings = { folder: this.folder, ...(threads !== undefined && { threads }) };
    const used = threads ?? usualThreads();
    this.#rooms = {
      reader: new Reader(settings),
      trainings: new Trainings(settings, say),
      report: {
        device: { chosen: "cpu", why: "it is this machine's", measured: [], threads: used, threadsReason: "" },
        storage: { kept: true, persisted: true },
        house: { folder: this.folder, version: version() },
      },
    };
    this.#rooms.trainings.goOn();
  }

  connect(send: (said: FromWorker) => void): Client {
    return new Client(this.#rooms, send);
  }

  /** How many trainings go on. */
  get trainings(): number {
    return this.#rooms.trainings.facts.length;
  }

  /** Saves what trains, and ends. */
  async close(): Promise<void> {
    await this.#rooms.trainings.close();
    this.#rooms.reader.end({ fault: "failed", code: "stopping", message: "the studio is stopping" });
    this.#letGo();
  }
}
