// The pushing neighbour of neighbours.ts: connections that push one layer after another, each a different blob. LOAD is a JSON
// file: {url, repo, authorization, connections, layerBytes}.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { setPriority } from "node:os";
import type { PushLoad } from "../neighbours.ts";

const { url, repo, authorization, connections, layerBytes } = JSON.parse(readFileSync(process.env.LOAD ?? "", "utf8")) as PushLoad;
const base = randomBytes(layerBytes);
const hashOfBase = createHash("sha256").update(base);
const agent = new Agent({ keepAlive: true, maxSockets: connections });

/** Pushes one layer: the same bytes with a unique end. */
const push = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = randomBytes(16);
    const digest = `sha256:${hashOfBase.copy().update(end).digest("hex")}`;
    const headers = { authorization, "content-type": "application/octet-stream", "content-length": layerBytes + end.length };
    const sent = request(`${url}/v2/${repo}/blobs/uploads/?digest=${digest}`, { method: "POST", agent, headers }, (answer) => {
      answer.resume().on("end", () => (answer.statusCode === 201 ? resolve() : reject(new Error(`a push was answered with ${answer.statusCode}`))));
    });
    sent.on("error", reject);
    sent.write(base);
    sent.end(end);
  });

const pushOn = async (): Promise<void> => {
  for (;;) await push();
};

// In production it would run on another machine; here it gets what the others leave.
setPriority(19);
for (let index = 0; index < connections; index++) void pushOn();
process.send?.("ready");
