// A server streams layers, so its memory does not grow with their size or number.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, test } from "node:test";
import { bytesAt, contentOf } from "../../server/registry/blobs/testing.ts";
import { shortOrLong } from "../length.ts";
import { openInstallation } from "../story/installation.ts";
import { gantryFile, start, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";

const MiB = 1024 * 1024;
const growthMaxBytes = 60 * MiB;
const largeBytes = shortOrLong(256, 1024) * MiB;
const layers = shortOrLong(40, 100);
const layerBytes = 10 * MiB;

after(stopAll);

const residentBytes = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
};

const digestOfContent = (startBytes: number, length: number): string => {
  const hash = createHash("sha256");
  for (let at = 0; at < length; at += MiB) hash.update(bytesAt(startBytes + at, Math.min(MiB, length - at)));
  return `sha256:${hash.digest("hex")}`;
};

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
after(() => agent.destroy());

const exchange = async (
  url: string,
  method: string,
  token: string,
  body?: { readonly startBytes: number; readonly length: number },
): Promise<IncomingMessage> => {
  const headers = { authorization: `Bearer ${token}`, ...(body ? { "content-type": "application/octet-stream", "content-length": body.length } : {}) };
  const sent = request(url, { method, agent, headers });
  const answered = once(sent, "response");
  if (body) await pipeline(Readable.from(contentOf(body.startBytes, body.length)), sent);
  else sent.end();
  const [answer] = (await answered) as [IncomingMessage];
  return answer;
};

test("a large layer in and out, and many concurrent layers, take less than 60 MiB", { skip: process.platform !== "linux" }, async () => {
  const installation = await openInstallation();
  try {
    const { world, environment } = installation;
    const port = await freePort();
    const { child, says } = start(gantryFile, ["serve"], {
      env: { ...environment, GANTRY_LISTEN: `127.0.0.1:${port}`, GANTRY_PUBLIC_URL: world.url },
    });
    await says(/Gantry serves/);
    const token = await world.token();
    const base = `http://127.0.0.1:${port}/v2/first-organization/memory/blobs`;
    const push = async (startBytes: number, length: number): Promise<string> => {
      const digest = digestOfContent(startBytes, length);
      const answer = await exchange(`${base}/uploads/?digest=${digest}`, "POST", token, { startBytes, length });
      answer.resume();
      assert.equal(answer.statusCode, 201);
      return digest;
    };
    const pull = async (digest: string, length: number): Promise<void> => {
      const answer = await exchange(`${base}/${digest}`, "GET", token);
      assert.equal(answer.statusCode, 200);
      const hash = createHash("sha256");
      let received = 0;
      for await (const piece of answer) {
        hash.update(piece);
        received += piece.length;
      }
      assert.equal(received, length);
      assert.equal(`sha256:${hash.digest("hex")}`, digest);
    };
    // Warm-up: all code is loaded and compiled.
    for (let round = 0; round < 3; round++) await pull(await push(round * 3, 5 * MiB), 5 * MiB);
    const before = await residentBytes(child.pid ?? 0);
    let highest = before;
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        highest = Math.max(highest, await residentBytes(child.pid ?? 0));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    })();
    const grown = (): string => `${Math.round((highest - before) / MiB)} MiB above ${Math.round(before / MiB)}`;
    await pull(await push(1, largeBytes), largeBytes);
    const large = grown();
    const digests = await Promise.all(Array.from({ length: layers }, (_, number) => push(1000 + number, layerBytes)));
    const many = grown();
    await Promise.all(digests.map((digest) => pull(digest, layerBytes)));
    isOver = true;
    await watching;
    console.log(`one large layer: ${large}; ${layers} pushed at once: ${many}; pulled at once: ${grown()}`);
    assert.ok(highest - before < growthMaxBytes, grown());
  } finally {
    await stopAll();
    await installation.close();
  }
});
