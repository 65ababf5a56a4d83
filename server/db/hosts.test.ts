// Host lists in DATABASE_URL are split into one URL for each host, as libpq reads them.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { TLSSocket } from "node:tls";
import { Fault } from "#base/fault.ts";
import pg from "pg";
import { type Certificate, makeAuthority, signCertificate } from "../../test/certificates.ts";
import { readHosts } from "./hosts.ts";
import { readHostStates } from "./primary.ts";

const connections = (url: string): string[] =>
  readHosts("DATABASE_URL", url).map((host) => {
    const { host: name, port, database, user = "", password } = new pg.Client(host.url);
    return [name, port, database, user, password ?? ""].join(" ");
  });

const cases: readonly (readonly [url: string, connections: readonly string[], names: readonly string[]])[] = [
  ["postgresql://u:p@a:5433,b:5434/d", ["a 5433 d u p", "b 5434 d u p"], ["a:5433", "b:5434"]],
  ["postgres://u:p@a,b.example.com/d?target_session_attrs=read-write", ["a 5432 d u p", "b.example.com 5432 d u p"], ["a:5432", "b.example.com:5432"]],
  ["postgresql://u:p@a,b/d?target_session_attrs=primary&application_name=x", ["a 5432 d u p", "b 5432 d u p"], ["a:5432", "b:5432"]],
  ["postgresql://u:p,q@1@a:1,b:2/d", ["a 1 d u p,q@1", "b 2 d u p,q@1"], ["a:1", "b:2"]],
  ["postgresql://u:p%40%2F@[::1]:5433,10.0.0.1/d", ["::1 5433 d u p@/", "10.0.0.1 5432 d u p@/"], ["[::1]:5433", "10.0.0.1:5432"]],
  ["postgresql://u:p@%2Frun%2Fa,%2Frun%2Fb:5433/d", ["/run/a 5432 d u p", "/run/b 5433 d u p"], ["/run/a:5432", "/run/b:5433"]],
  ["postgresql:///d?host=/run/a,/run/b&user=u", ["/run/a 5432 d u ", "/run/b 5432 d u "], ["/run/a:5432", "/run/b:5432"]],
  ["postgresql:///d?host=a,b&port=5433&user=u&password=p", ["a 5433 d u p", "b 5433 d u p"], ["a:5433", "b:5433"]],
  ["postgresql:///d?host=a,::1&port=5433,&user=u", ["a 5433 d u ", "::1 5432 d u "], ["a:5433", "[::1]:5432"]],
];
for (const [url, expected, names] of cases)
  test(`${url} lists ${names.join(" and ")}`, () => {
    assert.deepEqual(connections(url), expected);
    assert.deepEqual(
      readHosts("DATABASE_URL", url).map(({ name }) => name),
      names,
    );
  });

test("a URL with one host is not changed", () => {
  for (const url of [
    "postgresql://u:p,q@a/d",
    "postgresql:///d?host=/run/a&user=u",
    "postgresql:///d?host=%2Frun%2Fa%2Cb&user=u",
    "postgresql://a:5433",
    "mysql://a,b/d",
    "postgresql://u@a/d?sslmode=require",
  ])
    assert.deepEqual(
      readHosts("DATABASE_URL", url).map((host) => host.url),
      [url],
    );
});

test("each host keeps the TLS parameters", () => {
  const [, second] = readHosts("DATABASE_URL", "postgresql://u:p@a,b/d?sslmode=verify-full&target_session_attrs=read-write");
  assert.equal(second?.url, "postgresql://u:p@b:5432/d?sslmode=verify-full");
});

const refusals: readonly (readonly [url: string, reason: RegExp])[] = [
  ["postgresql://u:secret@a,/d", /contains an invalid host/],
  ["postgresql://u:secret@,b/d", /contains an invalid host/],
  ["postgresql://u:secret@a,b:x/d", /contains an invalid host/],
  ["postgresql://u:secret@a,%zz/d", /contains an invalid host/],
  ["postgresql://u:secret@a,b:70000/d", /contains an invalid port/],
  ["postgresql://u:secret@a,b:0/d", /contains an invalid port/],
  ["postgresql://u:secret@a,b:1,a:5432/d", /^[^,]*names a host twice$|names a host twice/],
  ["postgresql://u:secret@a,b/d?host=c,d", /names its hosts twice/],
  ["postgresql://u:secret@a,b/d?port=5432", /has a port behind the database/],
  ["postgresql:///d?host=a,b,c&port=1,2&password=secret", /names 3 hosts and 2 ports/],
  ["postgresql:///d?host=a,,c&password=secret", /contains an invalid host/],
  ["postgresql://u:secret@a,b/d?target_session_attrs=standby", /target_session_attrs that is not read-write/],
  ["postgresql://u:secret@a/d?target_session_attrs=any", /target_session_attrs that is not read-write/],
  [`postgresql://u:secret@${Array.from({ length: 9 }, (_, index) => `h${index}`).join(",")}/d`, /names more than 8 hosts/],
];
for (const [url, reason] of refusals)
  test(`${url} is refused in one line without the password`, () => {
    assert.throws(
      () => readHosts("GANTRY_MIGRATE_URL", url),
      (thrown) => {
        assert.ok(thrown instanceof Fault);
        assert.match(thrown.message, /^GANTRY_MIGRATE_URL /);
        assert.match(thrown.message, reason);
        assert.doesNotMatch(thrown.message, /secret/);
        return true;
      },
    );
  });

/** Starts a TLS server that disconnects clients which accept its certificate. Returns its port. */
const startTls = async (t: TestContext, { certificateFile, keyFile }: Certificate): Promise<number> => {
  const [cert, key] = await Promise.all([readFile(certificateFile), readFile(keyFile)]);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, cert, key });
      secure.on("error", () => {}).once("data", () => socket.destroy());
    });
  }).listen(0, "localhost");
  await once(server, "listening");
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
};

test("each host of a list must present a certificate for its own name", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "gantry-hosts-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const authority = makeAuthority(folder, "authority");
  const own = await startTls(t, signCertificate(folder, "own", authority, "DNS:localhost"));
  const anothers = await startTls(t, signCertificate(folder, "another", authority, "DNS:db-b.example.com"));
  const url = `postgresql://u:p@localhost:${own},localhost:${anothers}/d?sslmode=verify-full&sslrootcert=${authority.certificateFile}`;
  const errors = (await readHostStates(readHosts("DATABASE_URL", url))).map((state) => (state.is === "away" ? String(state.error) : state.is));
  assert.match(errors[0] ?? "", /Connection terminated/);
  assert.match(errors[1] ?? "", /Hostname\/IP does not match certificate's altnames: Host: localhost/);
});
