// Attacks 148 and 149: issuers, webhook endpoints and feeds on a private network with certificates from the operator's own CA. Only what the
// operator allows is reachable.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, unlink, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { openOutbound, type Outbound, type Purpose } from "#authn";
import { codes, Fault } from "#base/fault.ts";
import { type Log, silent } from "#base/log.ts";
import { readSettings } from "#application";
import { type Certificate, makeAuthority, readCertificateFiles, signCertificate } from "../certificates.ts";
import { gantry, startIssuer } from "../story/processes.ts";
import { freePort } from "../free-port.ts";
import { openWorld } from "../world.ts";

let folder: string;
let ours: Certificate;
let strange: Certificate;
let caFile: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-authorities-"));
  ours = makeAuthority(folder, "ours");
  strange = makeAuthority(folder, "strange");
  caFile = join(folder, "ca.pem");
  await copyFile(ours.certificateFile, caFile);
});
after(() => rm(folder, { recursive: true, force: true }));

let made = 0;
const certificate = (authority: Certificate, names: string, options?: { readonly ended?: boolean }): Certificate =>
  signCertificate(folder, `server-${made++}`, authority, names, options);

const serve = async (t: TestContext, files: Certificate): Promise<{ port: number; paths: string[] }> => {
  const paths: string[] = [];
  const server: Server = createServer(await readCertificateFiles(files), (request, response) => {
    paths.push(request.url ?? "");
    response.setHeader("connection", "close").end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, paths };
};

const open = (t: TestContext, options: Partial<Parameters<typeof openOutbound>[0]> = {}): Outbound => {
  const outbound = openOutbound({ allow: "127.0.0.0/8", caFile, resolve: () => Promise.resolve(["127.0.0.1"]), ...options });
  t.after(() => outbound.close());
  return outbound;
};

/** Returns "" if the host was reached, else the reason from the log. The caller always gets the same error. */
const refusal = async (outbound: Outbound, url: string, purpose: Purpose = "sink"): Promise<string> => {
  try {
    await outbound.fetch(purpose, url, { tenant: "operator" });
    return "";
  } catch (thrown) {
    assert.ok(thrown instanceof Fault);
    assert.equal(thrown.message, `${url} cannot be reached`);
    return thrown.cause instanceof Error ? thrown.cause.message : String(thrown.cause);
  }
};

test("attack 148: a host with a certificate from the operator's CA is reachable, and only with the setting", async (t) => {
  const { port, paths } = await serve(t, certificate(ours, "DNS:issuer.corp.example,IP:127.0.0.1"));
  for (const purpose of ["issuer", "sink", "feed"] as const)
    for (const host of ["issuer.corp.example", "127.0.0.1"]) {
      assert.equal(await refusal(open(t), `https://${host}:${port}/${purpose}`, purpose), "");
      assert.match(await refusal(open(t, { caFile: undefined }), `https://${host}:${port}/`, purpose), /self-signed certificate in certificate chain/);
    }
  assert.deepEqual(paths.length, 6);
});

test("attack 148: a certificate with another name, expired, or from an unlisted CA is refused", async (t) => {
  for (const [files, why] of [
    [certificate(ours, "DNS:other.corp.example"), /altnames|does not match/i],
    [certificate(ours, "IP:10.0.0.1"), /altnames|does not match/i],
    [certificate(ours, "DNS:issuer.corp.example", { ended: true }), /expired/],
    [certificate(strange, "DNS:issuer.corp.example"), /self-signed certificate in certificate chain/],
    // A certificate from the CA cannot itself issue certificates.
    [certificate(certificate(ours, "DNS:other.corp.example"), "DNS:issuer.corp.example"), /invalid CA|unsuitable|basic constraints/i],
  ] as const) {
    const { port, paths } = await serve(t, files);
    for (const purpose of ["issuer", "sink", "feed"] as const) assert.match(await refusal(open(t), `https://issuer.corp.example:${port}/`, purpose), why);
    assert.deepEqual(paths, []);
  }
});

test("attack 148: a changed CA file applies to the next connection; a broken or missing one changes nothing and is reported once", async (t) => {
  const file = join(folder, "changing.pem");
  await copyFile(ours.certificateFile, file);
  const told: string[] = [];
  const log: Log = (event) => void told.push(event);
  const outbound = open(t, { caFile: file, log });
  const [first, second] = [await serve(t, certificate(ours, "IP:127.0.0.1")), await serve(t, certificate(strange, "IP:127.0.0.1"))];
  const reached = async (): Promise<readonly [boolean, boolean]> => [
    (await refusal(outbound, `https://127.0.0.1:${first.port}/`)) === "",
    (await refusal(outbound, `https://127.0.0.1:${second.port}/`)) === "",
  ];
  assert.deepEqual(await reached(), [true, false]);
  await writeFile(file, `${await readFile(ours.certificateFile, "utf8")}\n${await readFile(strange.certificateFile, "utf8")}`);
  assert.deepEqual(await reached(), [true, true]);
  await copyFile(strange.certificateFile, file);
  assert.deepEqual(await reached(), [false, true], "an authority that was taken out still counts");
  assert.deepEqual(told, []);
  await writeFile(file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  assert.deepEqual(await reached(), [false, true]);
  await unlink(file);
  assert.deepEqual(await reached(), [false, true]);
  assert.deepEqual(told, ["authn.authorities.failed", "authn.authorities.failed"]);
});

test("attack 148: a CA file that is missing, empty, broken or contains a private key stops startup with one line", async () => {
  const read = async (content: string | undefined): Promise<string> => {
    const file = join(folder, "wrong.pem");
    await rm(file, { force: true });
    if (content !== undefined) await writeFile(file, content);
    const settings = { GANTRY_CA_FILE: file };
    let line = "";
    assert.throws(
      () => readSettings(settings),
      (thrown: unknown) => {
        assert.ok(thrown instanceof Fault);
        line = thrown.message;
        return true;
      },
    );
    for (const command of ["config", "doctor", "login"]) {
      const { code, stderr } = await gantry([command], { env: settings });
      assert.notEqual(code, 0);
      assert.equal(stderr, `gantry: ${line}\n`);
    }
    return line;
  };
  assert.match(await read(undefined), /^GANTRY_CA_FILE must name a readable file: ENOENT/);
  assert.match(await read("# nothing yet\n"), /^GANTRY_CA_FILE must contain a PEM certificate: /);
  const good = await readFile(ours.certificateFile, "utf8");
  assert.match(await read(`${good}${good.replace(/M[A-Za-z0-9]{3}/, "AAAA")}`), /^GANTRY_CA_FILE contains an unreadable certificate: number 2 of 2: /);
  assert.match(await read(`${good}${await readFile(ours.keyFile, "utf8")}`), /^GANTRY_CA_FILE holds a private key: certificates alone belong there: /);
});

test("attack 149: DNS rebinding reaches nothing else, and neither does another purpose", async (t) => {
  const { port, paths } = await serve(t, certificate(ours, "DNS:issuer.corp.example"));
  const answers = [["127.0.0.1"], ["127.0.0.2"], ["169.254.169.254"], ["10.0.0.1", "127.0.0.2"]];
  let asked = 0;
  const outbound = open(t, { allow: `issuer=127.0.0.1/32:${port}`, resolve: () => Promise.resolve(answers[asked++] ?? []) });
  assert.equal(await refusal(outbound, `https://issuer.corp.example:${port}/`, "issuer"), "");
  for (const address of ["127\\.0\\.0\\.2", "169\\.254\\.169\\.254", "127\\.0\\.0\\.2"])
    assert.match(await refusal(outbound, `https://issuer.corp.example:${port}/`, "issuer"), new RegExp(`^${address} is not a public address`));
  assert.match(await refusal(open(t, { allow: `issuer=127.0.0.1/32:${port}` }), `https://issuer.corp.example:${port}/`), /is not a public address/);
  assert.equal(paths.length, 1);
});

test("attack 149: an issuer's redirect or key address that leads to a forbidden host is not followed", async (t) => {
  const reached: string[] = [];
  const secret = createHttpServer((request, response) => {
    reached.push(request.url ?? "");
    response.end(JSON.stringify({ keys: [] }));
  });
  await new Promise<void>((done) => secret.listen(0, "127.0.0.1", done));
  const inside = `http://127.0.0.1:${(secret.address() as AddressInfo).port}/inside`;
  const issuerPort = await freePort();
  const url = `https://127.0.0.1:${issuerPort}`;
  let leads: "redirect" | "keys" = "redirect";
  const issuer = createServer(await readCertificateFiles(certificate(ours, "IP:127.0.0.1")), (_, response) => {
    if (leads === "redirect") response.writeHead(302, { location: inside }).end();
    else response.end(JSON.stringify({ issuer: url, jwks_uri: inside }));
  });
  await new Promise<void>((done) => issuer.listen(issuerPort, "127.0.0.1", done));
  const failures: string[] = [];
  const log: Log = (event, { cause } = {}) => {
    if (event === "authn.issuer.failed")
      failures.push(String((cause as Error).cause instanceof Error ? ((cause as Error).cause as Error).message : (cause as Error).message));
    else silent(event);
  };
  const [world, maker] = await Promise.all([
    openWorld({ GANTRY_CA_FILE: caFile, GANTRY_EGRESS_ALLOW: `issuer=127.0.0.1/32:${issuerPort}` }, log),
    startIssuer(),
  ]);
  t.after(() => Promise.all([world.close(), maker.close(), new Promise((done) => secret.close(done)), new Promise((done) => issuer.close(done))]));
  const identity = { name: "inside", claimMatch: { issuer: url, subject: "job" } };
  const { uid } = await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity });
  const token = await maker.token({ iss: url, sub: "job", aud: world.url });
  for (leads of ["redirect", "keys"] as const) {
    const answer = await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: String(uid) }, { token });
    assert.equal(answer.code, codes.UNAVAILABLE, answer.message);
    world.clock.now += 3_600_000;
  }
  assert.deepEqual(reached, []);
  assert.equal(failures.length, 2, failures.join("\n"));
  assert.match(failures[0] ?? "", /answers 302/);
  assert.match(failures[1] ?? "", /is not a public address/);
});
