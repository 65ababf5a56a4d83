// node bin/node.js bench/contents.ts [--mib 1024] [--rounds 5]
//
// Reads a layer of files without jars or executables as the server does, next to `gzip -dc | tar -t` of the same layer, in turns. Prints
// the throughput in MiB of unpacked bytes a second, the CPU time of all processes, the ratio of both, and the peak memory of the process
// that reads the layer (Linux).

import { execFile } from "node:child_process";
import { createReadStream, createWriteStream, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs, promisify } from "node:util";
import { createGzip } from "node:zlib";
import { openLayerReader } from "#registry/contents";
import { tarOf } from "../server/registry/contents/tar.fixture.ts";
import { median } from "./median.ts";

const { values } = parseArgs({
  options: {
    mib: { type: "string", default: "1024" },
    rounds: { type: "string", default: "5" },
    /** For the bench itself: reads this layer and prints the peak memory. */
    read: { type: "string" },
  },
});

const fileBytes = 16 * 1024;
const words = ["gantry", "layer", "package", "version", "library", "release", "return", "import", "const", "function", "=>", "(", ")", "{", "}", "\n"];

/** Text that compresses to about a third, as source files do. */
const textOf = (seed: number): string => {
  let [text, state] = ["", seed + 1];
  while (text.length < fileBytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state % 5 === 0 ? state.toString(36) : ` ${words[state % words.length]}`;
  }
  return text.slice(0, fileBytes);
};

async function* layerOf(mib: number): AsyncGenerator<Buffer> {
  const endBytes = 1024;
  for (let made = 0; made < mib * 64; made++) {
    const name = `usr/share/d${made >> 8}/f${made}.txt`;
    const archive = tarOf([{ name, content: textOf(made % 4096) }]);
    yield archive.subarray(0, -endBytes);
  }
  yield tarOf([{ name: "lib/apk/db/installed", content: "P:musl\nV:1.2.5-r0\n" }]);
}

const highestKb = (): number =>
  globSync(`/proc/${process.pid}/task/*/children`)
    .flatMap((path) => readFileSync(path, "utf8").split(" ").filter(Boolean))
    .reduce((highest, pid) => {
      try {
        return Math.max(highest, Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0));
      } catch {
        return highest;
      }
    }, 0);

interface Run {
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly output: string;
}

/** Runs a command of the shell. CPU time includes all processes that it started. */
const run = async (command: string): Promise<Run> => {
  const startMs = performance.now();
  const { stdout } = await promisify(execFile)("bash", ["-o", "pipefail", "-ec", `${command}\ntimes`]);
  const seconds = (performance.now() - startMs) / 1000;
  const lines = stdout.trimEnd().split("\n");
  const spent = [...(lines.at(-1) ?? "").matchAll(/(\d+)m([\d.]+)s/g)].map(([, minutes, rest]) => Number(minutes) * 60 + Number(rest));
  return { seconds, processorSeconds: spent.reduce((sum, each) => sum + each, 0), output: lines.slice(0, -2).join("\n") };
};

const readLayer = async (path: string): Promise<void> => {
  let highest = 0;
  const timer = setInterval(() => (highest = Math.max(highest, highestKb())), 10);
  const { problems, entries, databases } = await openLayerReader()(createReadStream(path));
  clearInterval(timer);
  if (problems.count > 0 || databases.length !== 1) throw new Error(`the layer was not read: ${JSON.stringify(problems)}`);
  process.stdout.write(`${entries} ${highest}\n`);
};

const compare = async (mib: number, rounds: number): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-bench-contents-"));
  try {
    const path = join(folder, "layer.tar.gz");
    await pipeline(layerOf(mib), createGzip(), createWriteStream(path));
    const packedMib = (await stat(path)).size / 1024 / 1024;
    process.stdout.write(`a layer of ${mib} MiB, ${packedMib.toFixed(0)} MiB packed\n`);
    const commands = {
      tar: `gzip -dc ${path} | tar -t | wc -l`,
      gantry: `${process.execPath} ${import.meta.filename} --read ${path}`,
    };
    const ratios: { readonly speed: number; readonly processor: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? (["tar", "gantry"] as const) : (["gantry", "tar"] as const);
      const results = new Map<string, Run>();
      for (const name of order) results.set(name, await run(commands[name]));
      const [tar, gantry] = [results.get("tar"), results.get("gantry")];
      if (!tar || !gantry) throw new Error("a run is missing");
      for (const [name, { seconds, processorSeconds, output }] of results)
        process.stdout.write(`${name}: ${(mib / seconds).toFixed(0)} MiB/s, ${processorSeconds.toFixed(2)} s of CPU, ${output}\n`);
      ratios.push({ speed: tar.seconds / gantry.seconds, processor: gantry.processorSeconds / tar.processorSeconds });
    }
    const [speed, processor] = [median(ratios.map((each) => each.speed)), median(ratios.map((each) => each.processor))];
    process.stdout.write(`throughput over that of gzip -dc | tar -t: ${speed.toFixed(2)}; CPU time over theirs: ${processor.toFixed(2)}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

await (values.read === undefined ? compare(Number(values.mib), Number(values.rounds)) : readLayer(values.read));
