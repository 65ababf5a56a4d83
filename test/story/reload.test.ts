// Reloading the certificate of a running server, on SIGHUP and on file changes, over real TLS with a test authority.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { readSettings, startServer } from "#application";
import { makeAuthority, readCertificateFiles, signCertificate } from "../certificates.ts";
import { freshDatabase } from "../database.ts";
import { freePort } from "../free-port.ts";
import { gantryFile, type Program, start, stopAll } from "./processes.ts";

let folder: string;
let ca: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let [certFile, keyFile] = ["", ""];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-reload-"));
  const authority = makeAuthority(folder, "authority");
  ca = (await readCertificateFiles(authority)).cert;
  for (const name of ["first", "second", "third", "ended"])
    signCertificate(folder, name, authority, `DNS:localhost,DNS:${name}.example.com`, { ended: name === "ended" });
  [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  database = await freshDatabase();
  await writeFile(join(folder, "secret.key"), Buffer.alloc(32, 9).toString("base64"), { mode: 0o600 });
});
after(async () => {
  await stopAll();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

const environmentAt = (port: number, files = { certFile, keyFile }): Readonly<Record<string, string>> => ({
  DATABASE_URL: database.url,
  GANTRY_SECRET_KEY_FILE: join(folder, "secret.key"),
  GANTRY_DATA: folder,
  GANTRY_LISTEN: `127.0.0.1:${port}`,
  GANTRY_PUBLIC_URL: `https://localhost:${port}`,
  GANTRY_TLS_CERT: files.certFile,
  GANTRY_TLS_KEY: files.keyFile,
});

const install = async (certificate: string, key = certificate): Promise<void> => {
  await copyFile(join(folder, `${certificate}.pem`), certFile);
  await copyFile(join(folder, `${key}.key`), keyFile);
};

const subjectOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN);

const shownAt = async (port: number): Promise<string> => {
  const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca });
  await once(socket, "secureConnect");
  const name = subjectOf(socket);
  socket.destroy();
  return name;
};

const statusOver1 = async (socket: TLSSocket): Promise<string> => {
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [bytes] = (await once(socket, "data")) as [Buffer];
  return bytes.toString("latin1").slice(9, 12);
};
const statusOver2 = async (session: ClientHttp2Session): Promise<number | undefined> => {
  const stream = session.request({ ":path": "/healthz" });
  stream.resume();
  const [headers] = (await once(stream, "response")) as [{ ":status"?: number }];
  return headers[":status"];
};

const told = (program: Program): { event: string; reason?: string; names?: string; expires?: string }[] =>
  program
    .stderr()
    .split("\n")
    .filter((line) => line.includes('"tls.certificate.'))
    .map((line) => JSON.parse(line));

test("attack 194: SIGHUP loads a new certificate for new connections, open ones continue, and an invalid pair is logged and ignored", async () => {
  await install("first");
  const port = await freePort();
  const program = start(gantryFile, ["serve"], { env: environmentAt(port) });
  await program.says(/npx gantry token/);
  const kept1 = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca });
  const kept2 = connectHttp2(`https://localhost:${port}`, { ca });
  assert.deepEqual([await statusOver1(kept1), await statusOver2(kept2)], ["200", 200]);
  assert.equal(await shownAt(port), "first");

  await install("second");
  program.signal("SIGHUP");
  await program.says(/tls\.certificate\.read/);
  assert.equal(await shownAt(port), "second");
  assert.deepEqual([subjectOf(kept1), await statusOver1(kept1), await statusOver2(kept2)], ["first", "200", 200]);
  assert.deepEqual(
    told(program).map(({ event, names }) => [event, names]),
    [["tls.certificate.read", "DNS:localhost, DNS:second.example.com"]],
  );
  assert.doesNotMatch(program.stderr(), /PRIVATE KEY/);

  for (const [spoil, reason] of [
    [() => install("third", "first"), /^GANTRY_TLS_KEY must contain the PEM private key of the certificate/],
    [() => writeFile(certFile, "nothing"), /^GANTRY_TLS_CERT must contain a PEM certificate/],
    [() => rm(certFile), /^GANTRY_TLS_CERT must name a readable file/],
    [() => install("ended"), /^GANTRY_TLS_CERT: the certificate has expired/],
  ] as const) {
    const before = told(program).length;
    await spoil();
    program.signal("SIGHUP");
    while (told(program).length === before) await once(program.child.stderr ?? assert.fail(), "data");
    const last = told(program).at(-1);
    assert.equal(last?.event, "tls.certificate.failed");
    assert.match(last?.reason ?? "", reason);
    assert.equal(await shownAt(port), "second");
    assert.deepEqual([await statusOver1(kept1), await statusOver2(kept2)], ["200", 200]);
  }

  kept1.destroy();
  kept2.destroy();
  program.signal("SIGTERM");
  assert.equal((await program.ended).code, 0);
});

test("changed certificate files, including a mounted secret's, are loaded automatically, and an incomplete pair is logged once", async () => {
  // Kubernetes mounts a secret as links through a link to a dated directory.
  for (const name of ["first", "second"]) {
    await mkdir(join(folder, `day-${name}`));
    await copyFile(join(folder, `${name}.pem`), join(folder, `day-${name}`, "tls.crt"));
    await copyFile(join(folder, `${name}.key`), join(folder, `day-${name}`, "tls.key"));
  }
  const turnTo = async (name: string): Promise<void> => {
    await symlink(`day-${name}`, join(folder, "..next"));
    await rename(join(folder, "..next"), join(folder, "..data"));
  };
  await turnTo("first");
  const port = await freePort();
  const files = { certFile: join(folder, "..data", "tls.crt"), keyFile: join(folder, "..data", "tls.key") };
  const events: string[] = [];
  let wake = (): void => {};
  const heard = async (count: number): Promise<void> => {
    while (events.length < count)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  };
  const log = (event: string): void => {
    if (!event.startsWith("tls.")) return;
    events.push(event);
    wake();
  };
  const server = await startServer(readSettings(environmentAt(port, files)), { log, deliversByHand: true, lookMs: 5 });
  try {
    assert.equal(await shownAt(port), "first");
    await turnTo("second");
    await heard(1);
    assert.equal(await shownAt(port), "second");
    // The old key remains with the new certificate over several checks; the number of log lines is asserted.
    await copyFile(join(folder, "third.pem"), join(folder, "day-second", "tls.crt"));
    await heard(2);
    assert.equal(await shownAt(port), "second");
    for (let looks = 0; looks < 10; looks++) await shownAt(port);
    await copyFile(join(folder, "third.key"), join(folder, "day-second", "tls.key"));
    await heard(3);
    assert.equal(await shownAt(port), "third");
    assert.deepEqual(events, ["tls.certificate.read", "tls.certificate.failed", "tls.certificate.read"]);
  } finally {
    await server.close();
  }
});

const hasScript = spawnSync("script", ["--version"]).status === 0;

test("a server started from a terminal stops gracefully when the terminal closes, despite SIGHUP", { skip: !hasScript && "script is not here" }, async () => {
  await install("first");
  const port = await freePort();
  const line = `'${process.execPath}' '${gantryFile}' serve`;
  const terminal = spawn("script", ["-qec", line, "/dev/null"], {
    env: { PATH: process.env.PATH, HOME: folder, ...environmentAt(port) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  while (!said.includes("npx gantry token")) said += String((await once(terminal.stdout, "data"))[0]);
  const session = connectHttp2(`https://localhost:${port}`, { ca });
  assert.equal(await statusOver2(session), 200);
  // Sent in a graceful stop, but not in a crash.
  const farewell = new Promise<boolean>((resolve) => {
    session.once("goaway", () => resolve(true));
    session.once("close", () => resolve(false));
  });
  terminal.kill("SIGKILL");
  assert.ok(await farewell);
  session.close();
});
