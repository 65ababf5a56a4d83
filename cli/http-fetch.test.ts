// The HTTP client of commands, against well-behaved and faulty servers.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ApiError, createClient } from "#contract-client";
import { httpFetch } from "./http-fetch.ts";

const getGroup = "chainguard.platform.iam.v2.GroupsService/GetGroup";
const updateGroup = "chainguard.platform.iam.v2.GroupsService/UpdateGroup";

const withServer = async (listener: RequestListener, work: (url: string) => Promise<void>): Promise<void> => {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

const clientOf = (server: string, answerBytesMax?: number) => createClient({ server, token: "secret", fetch: httpFetch, answerBytesMax });

const reasonOf = async (work: Promise<unknown>): Promise<string> => {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ApiError, String(thrown));
  return `${thrown.reason}: ${thrown.message}`;
};

test("a request carries its method, headers and body, and its response is read", async () => {
  const received: { readonly message: IncomingMessage; readonly body: string }[] = [];
  const listener: RequestListener = (message, response) => {
    let body = "";
    message
      .on("data", (chunk) => (body += chunk))
      .on("end", () => {
        received.push({ message, body });
        response.setHeader("etag", '"1"').end('{"uid":"x","name":"é"}');
      });
  };
  await withServer(listener, async (url) => {
    const answer = await clientOf(url).answer(updateGroup, { group: { uid: "x", name: "é" }, updateMask: "name" }, { ifMatch: '"0"' });
    assert.deepEqual([answer.reply, answer.etag], [{ uid: "x", name: "é" }, '"1"']);
  });
  const [{ message, body } = assert.fail("nothing came")] = received;
  assert.deepEqual([message.method, message.url, body], ["PATCH", "/iam/v2/groups/x?updateMask=name", '{"name":"é"}']);
  assert.deepEqual([message.headers.authorization, message.headers["if-match"]], ["Bearer secret", '"0"']);
  assert.equal(message.headers["content-length"], String(Buffer.byteLength(body)));
});

test("a compressed response is decompressed under the same size limit", async () => {
  const compressed = gzipSync(JSON.stringify({ uid: "x", name: "n".repeat(1_000_000) }));
  await withServer(
    (message, response) => {
      assert.equal(message.headers["accept-encoding"], "gzip");
      response.setHeader("content-encoding", "gzip").end(compressed);
    },
    async (url) => {
      assert.equal((await clientOf(url).call(getGroup, { uid: "x" })).uid, "x");
      assert.match(await reasonOf(clientOf(url, 100_000).call(getGroup, { uid: "x" })), /^ANSWER_TOO_LARGE/);
    },
  );
});

test("attack 146: a redirect is not followed, and no token reaches its target", async () => {
  let requests = 0;
  await withServer(
    (_message, response) => {
      requests++;
      response.writeHead(302, { location: "/elsewhere" }).end();
    },
    async (url) => assert.match(await reasonOf(clientOf(url).call(getGroup, { uid: "x" })), /^REDIRECTED/),
  );
  assert.equal(requests, 1);
});

test("a 304 response leaves its connection usable for the next request", async () => {
  const sockets = new Set<unknown>();
  await withServer(
    ({ socket }, response) => {
      sockets.add(socket);
      response.writeHead(304).end();
    },
    async (url) => {
      for (let request = 0; request < 3; request++)
        assert.equal((await clientOf(url).answer(getGroup, { uid: "x" }, { ifNoneMatch: '"1"' })).notModified, true);
    },
  );
  assert.equal(sockets.size, 1);
});

test("the error states whether no server listens, the response is cut off, or the time is over", async () => {
  let nowhere = "";
  await withServer(
    () => {},
    async (url) => {
      nowhere = url;
      assert.match(await reasonOf(clientOf(url).call(getGroup, { uid: "x" }, { timeoutMs: 20 })), /^TIME_LIMIT/);
    },
  );
  const triedOnce = (server: string) =>
    createClient({ server, fetch: httpFetch, wait: () => Promise.reject(new ApiError("ABORTED", "no more")), onRetry: (error) => told.push(error.message) });
  const told: string[] = [];
  await assert.rejects(triedOnce(nowhere).call(getGroup, { uid: "x" }));
  await withServer(
    (_message, response) => {
      response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy());
    },
    async (url) => {
      await assert.rejects(triedOnce(url).call(getGroup, { uid: "x" }));
    },
  );
  assert.match(told[0] ?? "", /cannot be reached: ECONNREFUSED/);
  assert.match(told[1] ?? "", /was cut off/);
});

test("if Node is configured for a proxy, fetch sends the request, which follows it in every Node 24", async (t) => {
  t.after(() => delete process.env.NODE_USE_ENV_PROXY);
  let agent = "";
  await withServer(
    (message, response) => {
      agent = message.headers["user-agent"] ?? "";
      response.end("{}");
    },
    async (url) => {
      await clientOf(url).call(getGroup, { uid: "x" });
      assert.equal(agent, "");
      process.env.NODE_USE_ENV_PROXY = "1";
      await clientOf(url).call(getGroup, { uid: "x" });
      assert.equal(agent, "node");
    },
  );
});
