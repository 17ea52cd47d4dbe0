// The server's memory and descriptors over time. In the part without kills they must not grow once the server is warm.

import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** What may be added after the warm-up: a share of what there was, and an amount. */
const limits = { memory: { share: 0.2, amount: 16 << 10 }, descriptors: { share: 0.05, amount: 32 } };

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

export class Figures {
  constructor(server, { streams, devices, faults, minutes }) {
    Object.assign(this, { server, streams, devices, faults, samples: [] });
    this.interval = Math.max(1000, Math.min(15_000, minutes * 500));
  }

  /** From now on one server lives: its figures count. */
  begin() {
    console.log("From here on the server is not killed.");
    this.samples = [];
    this.isCounting = true;
  }

  async live(isOver) {
    console.log("      time  memory MB  descriptors  streams  edits  waiting  fault");
    const start = Date.now();
    while (!isOver()) {
      this.sample((Date.now() - start) / 1000);
      await sleep(this.interval);
    }
  }

  sample(seconds) {
    let memory, descriptors;
    try {
      const process = `/proc/${this.server.process.pid}`;
      // Without what is of files, which the system takes back when it needs it.
      memory = Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`${process}/status`, "utf8"))[1]);
      descriptors = readdirSync(`${process}/fd`).length;
    } catch {
      return; // It was killed a moment ago.
    }
    const streams = this.streams.openCount;
    if (this.isCounting) this.samples.push({ memory, descriptors: descriptors - streams });
    const edits = this.devices.reduce((sum, device) => sum + device.edits, 0);
    let waiting = "";
    try {
      waiting = this.devices.reduce((sum, device) => sum + device.waiting(), 0);
    } catch {
      // Somebody writes a device's file at this moment.
    }
    const cells = [
      [seconds.toFixed(0), 10], [(memory / 1024).toFixed(1), 9], [descriptors, 11], [streams, 7], [edits, 5],
      [waiting, 7], [this.faults.now, 0],
    ];
    console.log(cells.map(([value, width]) => String(value).padStart(width)).join("  "));
  }

  /** What grew. The second quarter of the samples is compared with the last: the first is the warm-up. */
  verdict() {
    const quarter = this.samples.length >> 2;
    if (quarter < 3) return ["there are too few samples to say whether memory is flat: run it for longer"];
    return Object.entries(limits).flatMap(([name, limit]) => {
      const of = (part) => median(this.samples.slice(part * quarter, (part + 1) * quarter).map((sample) => sample[name]));
      const [before, after] = [of(1), of(3)];
      const most = before * (1 + limit.share) + limit.amount;
      console.log(`${name}: ${before} after the warm-up, ${after} at the end; at most ${most.toFixed(0)}`);
      return after > most ? [`${name} grew from ${before} to ${after}`] : [];
    });
  }
}
