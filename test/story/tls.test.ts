// TLS by settings: GANTRY_TLS_CERT and GANTRY_TLS_KEY enable REST and gRPC on one port, without plaintext.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as grpc from "@grpc/grpc-js";
import { freshDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { openWorld } from "../world.ts";
import { gantry, gantryFile, type Program, start, stopAll } from "./processes.ts";

let folder: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let environment: Record<string, string>;
let port: number;
let certificate: Buffer;
let program: Program;
let token: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-tls-story-"));
  const [key, cert, secret] = [join(folder, "key.pem"), join(folder, "cert.pem"), join(folder, "secret.key")];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "1",
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-keyout",
      key,
      "-out",
      cert,
    ],
    { stdio: "ignore" },
  );
  execFileSync("openssl", ["rand", "-base64", "-out", secret, "32"], { stdio: "ignore" });
  await chmod(secret, 0o600);
  certificate = await readFile(cert);
  database = await freshDatabase();
  port = await freePort();
  environment = {
    DATABASE_URL: database.url,
    GANTRY_SECRET_KEY_FILE: secret,
    GANTRY_LISTEN: `127.0.0.1:${port}`,
    GANTRY_PUBLIC_URL: `https://localhost:${port}`,
    GANTRY_TLS_CERT: cert,
    GANTRY_TLS_KEY: key,
    GANTRY_CA_FILE: cert,
  };
  program = start(gantryFile, ["serve"], { env: environment });
  await program.says(/npx gantry token/);
  token = (await gantry(["token"], { env: environment })).stdout.trim();
});
after(async () => {
  await stopAll();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

const get = (path: string, method = "GET"): Promise<{ status: number; body: string; headers: IncomingHttpHeaders }> =>
  new Promise((resolve, reject) => {
    request(`https://localhost:${port}${path}`, { method, ca: certificate, headers: { authorization: `Bearer ${token}` }, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }));
    })
      .on("error", reject)
      .end();
  });

test("REST over TLS has the configured address as issuer", async () => {
  const { status, body } = await get("/.well-known/openid-configuration");
  assert.equal(status, 200);
  assert.equal((JSON.parse(body) as { issuer: string }).issuer, `https://localhost:${port}`);
  const roles = await get("/iam/v2/roles?name=viewer");
  assert.equal(roles.status, 200);
  assert.match(roles.body, /"name":"viewer"/);
});

test("gRPC over TLS returns the same data", async () => {
  const client = new grpc.Client(`localhost:${port}`, grpc.credentials.createSsl(certificate));
  const metadata = new grpc.Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  const reply = await new Promise<Buffer | undefined>((resolve, reject) => {
    // ListRolesRequest{name: "viewer"}: field 2.
    const message = Buffer.concat([Buffer.from([2 * 8 + 2, 6]), Buffer.from("viewer")]);
    client.makeUnaryRequest(
      "/chainguard.platform.iam.v2.RolesService/ListRoles",
      (sent: Buffer) => sent,
      (got: Buffer) => got,
      message,
      metadata,
      (error, got) => (error ? reject(error) : resolve(got)),
    );
  });
  client.close();
  assert.ok(reply?.includes("viewer"));
});

const lasting = "max-age=31536000";

test("every response over TLS has an HSTS header: API, issuer, health, errors and unknown paths", async () => {
  for (const [path, method, status] of [
    ["/iam/v2/roles?name=viewer", "GET", 200],
    ["/.well-known/jwks.json", "GET", 200],
    ["/oauth?idp_id=none&redirect=https://localhost", "GET", 400],
    ["/healthz", "GET", 200],
    ["/readyz", "HEAD", 200],
    ["/iam/v2/roles", "OPTIONS", 405],
    ["/iam/v2/groups/absent", "GET", 400],
    ["/no/such/path", "GET", 404],
  ] as const) {
    const { status: got, headers } = await get(path, method);
    assert.deepEqual([path, got, headers["strict-transport-security"]], [path, status, lasting]);
  }
});

test("handwritten responses over TLS have it too: an invalid request, and CONNECT", async () => {
  for (const lines of ["nonsense\r\n\r\n", "CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n"]) {
    const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca: certificate, ALPNProtocols: ["http/1.1"] });
    let heard = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      heard += text;
    });
    const closed = once(socket, "close");
    socket.write(lines);
    await closed;
    assert.match(heard, new RegExp(`^HTTP/1.1 40[05] [^]*\\r\\nstrict-transport-security: ${lasting}\\r\\n`), lines);
  }
});

test("HTTP/2 responses have it too: REST, gRPC, and refused or unknown gRPC", async () => {
  const session = connectHttp2(`https://localhost:${port}`, { ca: certificate });
  try {
    for (const headers of [
      { ":path": "/iam/v2/roles" },
      { ":path": "/no/such/path" },
      { ":path": "/grpc.health.v1.Health/Check", ":method": "POST", "content-type": "application/grpc" },
      { ":path": "/chainguard.platform.iam.v2.RolesService/ListRoles", ":method": "POST", "content-type": "application/grpc" },
      { ":path": "/no.such.Service/Method", ":method": "POST", "content-type": "application/grpc" },
    ]) {
      const stream = session.request(headers);
      if (":method" in headers) stream.end(Buffer.alloc(5));
      const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders];
      assert.deepEqual([headers[":path"], answer["strict-transport-security"]], [headers[":path"], lasting]);
      stream.resume();
      await once(stream, "close");
    }
  } finally {
    session.close();
  }
});

test("plaintext responses have no HSTS header (RFC 6797 §7.2)", async () => {
  const world = await openWorld();
  try {
    for (const path of ["/healthz", "/iam/v2/roles", "/no/such/path"]) {
      const response = await fetch(`${world.url}${path}`);
      await response.text();
      assert.equal(response.headers.get("strict-transport-security"), null, path);
    }
  } finally {
    await world.close();
  }
});

test("plaintext requests on the TLS port get no response, so no token is sent in plaintext", async () => {
  const socket = connect(port, "127.0.0.1");
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    heard += text;
  });
  const closed = once(socket, "close");
  socket.write(`GET /iam/v2/roles HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`);
  await closed;
  assert.doesNotMatch(heard, /HTTP|roles/);
});

test("gantry health uses the public address if TLS is enabled", async () => {
  const { code, stdout } = await gantry(["health"], { env: environment });
  assert.deepEqual([code, stdout], [0, "ready\n"]);
});
