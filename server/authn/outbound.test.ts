// The guarded client against real servers on loopback.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { test, type TestContext } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { openOutbound, type Outbound, type OutboundRequest } from "./outbound.ts";
import { startHttpServer } from "./testing.ts";

const open = (t: TestContext, allow: string): Outbound => {
  const outbound = openOutbound({ allow });
  t.after(() => outbound.close());
  return outbound;
};

/** Returns the cause of a failure, and checks that the caller's error is always the same. */
const why = async (outbound: Outbound, url: string, request: Partial<OutboundRequest> = {}): Promise<string> => {
  try {
    await outbound.fetch("issuer", url, { tenant: "operator", ...request });
  } catch (thrown) {
    assert.ok(thrown instanceof Fault);
    assert.equal(`${thrown.code}: ${thrown.message}`, `UNAVAILABLE: ${url} cannot be reached`);
    return thrown.cause instanceof Error ? thrown.cause.message : String(thrown.cause);
  }
  return "it was reached";
};

/** A server that records requested paths. */
const counting = async (t: TestContext): Promise<{ url: string; port: string; requestedPaths: string[] }> => {
  const requestedPaths: string[] = [];
  const url = await startHttpServer(t, (request, response) => {
    requestedPaths.push(request.url ?? "");
    response.end("hello");
  });
  return { url, port: new URL(url).port, requestedPaths };
};

test("attack 19, local addresses: none is reachable unless listed, in any spelling", async (t) => {
  const { port, requestedPaths } = await counting(t);
  const outbound = open(t, "");
  for (const host of [
    "127.0.0.1",
    "localhost",
    "127.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "127.0.0.1.",
    "LOCALHOST",
  ])
    for (const scheme of ["http", "https"]) assert.match(await why(outbound, `${scheme}://${host}:${port}/`), /is not a public address/, `${scheme}://${host}`);
  assert.equal(
    await why(outbound, "http://169.254.169.254/latest/meta-data/"),
    "169.254.169.254 is not a public address (linkLocal); GANTRY_EGRESS_ALLOW can allow it",
  );
  assert.deepEqual(requestedPaths, []);
});

test("attack 240: an error names the URL without its query, which may contain a key", async (t) => {
  const outbound = open(t, "");
  for (const purpose of ["issuer", "feed", "sink"] as const)
    await assert.rejects(outbound.fetch(purpose, "http://127.0.0.1:9/feed?key=confidential#part", { tenant: "operator" }), {
      code: "UNAVAILABLE",
      message: "http://127.0.0.1:9/feed cannot be reached",
    });
});

test("an allowed address is reachable over http, for its purpose and port only", async (t) => {
  const { url, port, requestedPaths } = await counting(t);
  const answer = await open(t, "127.0.0.0/8").fetch("sink", `${url}/x`, { tenant: "operator" });
  assert.equal(answer.status, 200);
  assert.equal(Buffer.from(answer.body).toString(), "hello");
  assert.equal(await why(open(t, `issuer=127.0.0.1:${port}`), url), "it was reached");
  assert.equal(await why(open(t, `issuer=127.0.0.1:${port}`), `http://localhost:${port}`), "it was reached");
  assert.match(await why(open(t, `sink=127.0.0.1:${port}`), url), /is not a public address/);
  assert.match(await why(open(t, "127.0.0.1:1"), url), /is not a public address/);
  assert.equal(requestedPaths.length, 3);

  // A pooled connection of one purpose serves no other.
  const sink = open(t, "sink=127.0.0.0/8");
  await sink.fetch("sink", url, { tenant: "operator" });
  assert.match(await why(sink, url), /is not a public address/);
});

test("attack 20, redirect: a redirect is returned and not followed", async (t) => {
  const target = await counting(t);
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await startHttpServer(t, (_, response) => response.writeHead(status, { location: target.url }).end());
    const answer = await open(t, "127.0.0.0/8").fetch("issuer", url, { tenant: "operator" });
    assert.deepEqual([answer.status, answer.headers.location], [status, target.url]);
  }
  assert.deepEqual(target.requestedPaths, []);
});

test("attack 17, a URL that looks like one host and leads to another is not fetched", async (t) => {
  const { url, port, requestedPaths } = await counting(t);
  const outbound = open(t, "127.0.0.0/8");
  assert.match(await why(outbound, `http://issuer.example@127.0.0.1:${port}/`), /user name/);
  assert.match(await why(outbound, `http://:x@127.0.0.1:${port}/`), /user name or password/);
  for (const other of ["ftp://127.0.0.1/", "file:///etc/passwd", "data:,x", "//127.0.0.1", "", "x"])
    assert.match(await why(outbound, other), /neither https nor http|not a URL/, other);
  assert.deepEqual(requestedPaths, []);
  assert.equal(await why(outbound, url), "it was reached");
});

test("an oversized response is not read to its end, and compression is not requested", async (t) => {
  let encoding: string | undefined;
  const url = await startHttpServer(t, (request, response) => {
    encoding = request.headers["accept-encoding"];
    const more = (): void => {
      while (response.write("x".repeat(10_000)) && !response.destroyed);
    };
    response.on("drain", more);
    more();
  });
  assert.match(await why(open(t, "127.0.0.0/8"), url), /the response is longer than 524288 bytes/);
  assert.match(await why(open(t, "127.0.0.0/8"), url, { bytesMax: 10 }), /longer than 10 bytes/);
  assert.equal(encoding, "identity");
});

test("an unresponsive server, or an endless response, ends at the timeout", async (t) => {
  const silentUrl = await startHttpServer(t, () => {});
  const endlessUrl = await startHttpServer(t, (_, response) => void response.write("x"));
  const outbound = open(t, "127.0.0.0/8");
  assert.match(await why(outbound, silentUrl, { timeoutMs: 100 }), /time/i);
  assert.match(await why(outbound, endlessUrl, { timeoutMs: 100 }), /time|abort/i);
  assert.match(await why(outbound, silentUrl, { signal: AbortSignal.abort() }), /abort/i);
});

test("a closed port and an unknown name look like a refused address", async (t) => {
  const server = await counting(t);
  const outbound = open(t, "127.0.0.0/8");
  assert.match(await why(outbound, "http://127.0.0.1:1/"), /ECONNREFUSED/);
  assert.match(await why(outbound, "https://no-such-name.invalid/"), /ENOTFOUND|EAI_AGAIN/);
  assert.equal(await why(outbound, `${server.url}/`), "it was reached");
});

test("proxy variables of the environment have no effect", async (t) => {
  const proxy = await counting(t);
  const target = await counting(t);
  const names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy"];
  for (const name of names) process.env[name] = proxy.url;
  t.after(() => {
    for (const name of names) delete process.env[name];
  });
  assert.equal(await why(open(t, "127.0.0.0/8"), target.url), "it was reached");
  assert.deepEqual(proxy.requestedPaths, []);
});

// For the tests below: a certificate for the name localhost only, until 2126.
const certificate = `-----BEGIN CERTIFICATE-----
MIIBlDCCATugAwIBAgIUJAVLbVp/ET3lmbk4PL0t6quQJKowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDIyMzcwNVoYDzIxMjYxMDI3
MjIzNzA1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARop3eoUxpCRkFY74vB7S4b9wwHbS1EQoMJg8KkAjobWRmBFyFlwtMG
mMWaI567EPTpfMWwZHLkiErRe0ZG56VPo2kwZzAdBgNVHQ4EFgQUjIbWgDbRcNKC
an7wqyMA6fYW5xswHwYDVR0jBBgwFoAUjIbWgDbRcNKCan7wqyMA6fYW5xswDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
RwAwRAIgRQK8jc5k+vJWfEOTvt9dhcvrp+pT1S2VVIc/OEOCqfwCIG/aM07AsjEf
a+4Gl2EnExsWRcPXd992CUa5FNGgZJlJ
-----END CERTIFICATE-----`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcAvZBDPN0cyL22D2
mQOr0c+yO5BUviHWHCo/6iXortyhRANCAARop3eoUxpCRkFY74vB7S4b9wwHbS1E
QoMJg8KkAjobWRmBFyFlwtMGmMWaI567EPTpfMWwZHLkiErRe0ZG56VP
-----END PRIVATE KEY-----`;

test("over https the certificate must match the name, although the connection uses the address", async (t) => {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate]);
  t.after(() => setDefaultCACertificates(before));
  const server: Server = createServer({ cert: certificate, key }, (_, response) => response.end("hello"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  assert.equal(await why(open(t, "127.0.0.0/8"), `https://localhost:${port}/`), "it was reached");
  assert.match(await why(open(t, "127.0.0.0/8"), `https://127.0.0.1:${port}/`), /IP: 127\.0\.0\.1 is not in the cert/);
});

test("attack 83, downgrade: a redirect from https to http is refused, and one to https is followed", async (t) => {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate]);
  t.after(() => setDefaultCACertificates(before));
  const plain = await counting(t);
  let location = plain.url;
  const server: Server = createServer({ cert: certificate, key }, (request, response) => {
    if (request.url === "/there") response.end("hello");
    else response.writeHead(307, { location }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const outbound = open(t, "127.0.0.0/8");
  assert.match(await why(outbound, url, { redirectsMax: 3 }), /leads from https to http/);
  assert.deepEqual(plain.requestedPaths, []);
  location = `${url}/there`;
  assert.equal(await why(outbound, url, { redirectsMax: 3 }), "it was reached");
});

test("one organization has its share of requests per purpose, and others do not wait for it", async (t) => {
  const held: (() => void)[] = [];
  let allArrived = (): void => {};
  const arrived = new Promise<void>((done) => (allArrived = done));
  const url = await startHttpServer(t, (request, response) => {
    if (request.url !== "/slow") return void response.end();
    held.push(() => response.end());
    if (held.length === limits.issuerFetchesEachMax) allArrived();
  });
  const outbound = open(t, "127.0.0.0/8");
  const slow = Array.from({ length: limits.issuerFetchesEachMax }, () => outbound.fetch("issuer", `${url}/slow`, { tenant: { organization: "a" } }));
  await arrived;
  let isServed = false;
  const next = outbound.fetch("issuer", url, { tenant: { organization: "a" } }).finally(() => (isServed = true));
  assert.equal((await outbound.fetch("issuer", url, { tenant: { organization: "b" } })).status, 200);
  assert.equal((await outbound.fetch("sink", url, { tenant: { organization: "a" } })).status, 200);
  assert.equal(isServed, false, "its own next one waits behind its own");
  for (const end of held) end();
  await Promise.all(slow);
  assert.equal((await next).status, 200);
  assert.equal((await outbound.fetch("issuer", url, { tenant: { organization: "a" } })).status, 200);
});

test("an unreachable issuer host backs off, whatever is requested from it", async (t) => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const clock = { now: 0 };
  const outbound = openOutbound({ allow: "127.0.0.0/8", clock: () => clock.now });
  t.after(() => outbound.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made: number[] = [];
  for (; clock.now < 8 * limits.issuerPauseMaxMs; clock.now += limits.issuerRetryMs / 2) {
    const earlier = connections;
    await why(outbound, `${url}/${clock.now}`);
    if (connections > earlier) made.push(clock.now / limits.issuerRetryMs);
  }
  assert.deepEqual(made.slice(0, 6), [0, 1, 3, 7, 11, 15]);
  const earlier = connections;
  await assert.rejects(outbound.fetch("sink", url, { tenant: "operator" }));
  assert.equal(connections, earlier + 1, "what has a schedule of its own is not held up");
});

test("an unresponsive address leaves time for the next one of its name", async (t) => {
  const { port, requestedPaths } = await counting(t);
  // 192.0.2.0/24 (RFC 5737) never responds, or refuses at once.
  const outbound = openOutbound({ allow: "127.0.0.0/8,192.0.2.0/24", resolve: () => Promise.resolve(["192.0.2.1", "127.0.0.1"]) });
  t.after(() => outbound.close());
  assert.equal(await why(outbound, `http://twofold.example:${port}/`), "it was reached");
  assert.equal(requestedPaths.length, 1);
});
