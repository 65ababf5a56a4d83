// The real skopeo copies multi-architecture images in and out with equal digests, in plain text and over TLS, and cannot pull without
// permission. Skipped if it is not installed.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { freshDatabase } from "../database.ts";
import { gantry, gantryFile, start, startIssuer, stopAll } from "../story/processes.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";

const isInstalled = (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, "skopeo")));
const skip = isInstalled ? false : "skopeo is not installed";

const folder = await mkdtemp(join(tmpdir(), "gantry-skopeo-"));
after(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs skopeo with `typed` as its input. */
const skopeoReading = (typed: string, ...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const environment = { ...process.env, HOME: folder, XDG_RUNTIME_DIR: folder };
    const child = execFile("skopeo", args, { env: environment, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
    child.stdin?.end(typed);
  });

const skopeo = (...args: string[]): Promise<Ended> => skopeoReading("", ...args);

const done = async (...args: string[]): Promise<string> => {
  const { code, out, err } = await skopeo(...args);
  assert.equal(code, 0, err);
  return out;
};

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Writes an OCI layout of one index with an image for each architecture; returns the index's digest. */
const writeLayout = async (path: string, architectures: readonly string[]): Promise<string> => {
  await mkdir(join(path, "blobs", "sha256"), { recursive: true });
  const put = async (mediaType: string, content: string | Uint8Array) => {
    const digest = sha256(content);
    await writeFile(join(path, "blobs", "sha256", digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: typeof content === "string" ? Buffer.byteLength(content) : content.length };
  };
  const image = "application/vnd.oci.image";
  const manifests = [];
  for (const architecture of architectures) {
    const layer = await put(`${image}.layer.v1.tar`, randomBytes(300_000));
    const config = await put(`${image}.config.v1+json`, JSON.stringify({ os: "linux", architecture, rootfs: { type: "layers", diff_ids: [layer.digest] } }));
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: `${image}.manifest.v1+json`, config, layers: [layer] });
    manifests.push({ ...(await put(`${image}.manifest.v1+json`, manifest)), platform: { os: "linux", architecture } });
  }
  const index = await put(`${image}.index.v1+json`, JSON.stringify({ schemaVersion: 2, mediaType: `${image}.index.v1+json`, manifests }));
  await writeFile(join(path, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    join(path, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...index, annotations: { "org.opencontainers.image.ref.name": "all" } }] }),
  );
  return index.digest;
};

const hostOf = ({ url }: World): string => url.replace(/^https?:\/\//, "");

/** Copies a multi-architecture image in and out with the same digests and bytes. */
const copyInAndOut = async (host: string, token: string, options: { readonly name: string; readonly from: string[]; readonly to: string[] }): Promise<void> => {
  const layout = join(folder, `${options.name}-in`);
  const index = await writeLayout(layout, ["amd64", "arm64", "riscv64"]);
  const reference = `docker://${host}/first-organization/copied/image:1`;
  await done("copy", "--all", "--preserve-digests", ...options.to, "--dest-creds", `_token:${token}`, `oci:${layout}:all`, reference);
  const out = join(folder, `${options.name}-out`);
  await done("copy", "--all", "--preserve-digests", ...options.from, "--src-creds", `_token:${token}`, reference, `oci:${out}:all`);
  const copied = JSON.parse(await readFile(join(out, "index.json"), "utf8")) as { manifests: { digest: string }[] };
  assert.deepEqual(
    copied.manifests.map(({ digest }) => digest),
    [index],
  );
  for (const path of execFileSync("ls", [join(layout, "blobs", "sha256")], { encoding: "utf8" })
    .split("\n")
    .filter(Boolean))
    assert.equal(sha256(await readFile(join(out, "blobs", "sha256", path))), path);
};

test("skopeo copies an image of three architectures in and out with equal digests, in plain text", { skip }, async (t) => {
  const world = await openWorld();
  t.after(() => world.close());
  await copyInAndOut(hostOf(world), await world.token(), { name: "clear", from: ["--src-tls-verify=false"], to: ["--dest-tls-verify=false"] });
});

test("skopeo copies an image of three architectures in and out with equal digests, over TLS", { skip }, async (t) => {
  const [key, cert, certificates] = [join(folder, "key.pem"), join(folder, "cert.pem"), join(folder, "certificates")];
  const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
  execFileSync("openssl", [...request.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" });
  const secret = join(folder, "secret.key");
  await writeFile(secret, randomBytes(32).toString("base64"), { mode: 0o600 });
  await mkdir(certificates);
  await writeFile(join(certificates, "ca.crt"), await readFile(cert));
  await chmod(key, 0o600);
  const database = await freshDatabase();
  t.after(() => database.drop());
  const port = await freePort();
  const env = {
    DATABASE_URL: database.url,
    GANTRY_DATA: join(folder, "data"),
    GANTRY_SECRET_KEY_FILE: secret,
    GANTRY_LISTEN: `127.0.0.1:${port}`,
    GANTRY_PUBLIC_URL: `https://127.0.0.1:${port}`,
    GANTRY_TLS_CERT: cert,
    GANTRY_TLS_KEY: key,
    GANTRY_CA_FILE: cert,
  };
  t.after(stopAll);
  await start(gantryFile, ["serve"], { env }).says(/npx gantry token/);
  const token = (await gantry(["token"], { env })).stdout.trim();
  await copyInAndOut(`127.0.0.1:${port}`, token, { name: "tls", from: ["--src-cert-dir", certificates], to: ["--dest-cert-dir", certificates] });
});

test("an identity of a subgroup pulls from its repos and not from the root's", { skip }, async (t) => {
  const world = await openWorld();
  t.after(() => world.close());
  const host = hostOf(world);
  const token = await world.token();
  const layout = join(folder, "subgroup");
  await writeLayout(layout, ["amd64"]);
  const push = (name: string) =>
    done("copy", "--all", "--dest-tls-verify=false", "--dest-creds", `_token:${token}`, `oci:${layout}:all`, `docker://${host}/${name}`);
  await push("first-organization/of-the-root:1");
  await push("first-organization/team/of-the-team:1");
  const { groups } = await world.ok("iam.GroupsService/ListGroups", { name: "team" });
  const [team] = groups as { uid: string }[];
  const body = { name: "puller", claimMatch: { issuer: "https://issuer.example.com", subject: "puller" } };
  const puller = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: team?.uid ?? "", identity: body }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: team?.uid ?? "",
    roleBinding: { identityUid: puller, roleUid: builtInRoleUid("registry.pull") },
  });
  const pull = async (name: string): Promise<Ended> =>
    skopeo("inspect", "--raw", "--tls-verify=false", "--creds", `_token:${await world.token(puller)}`, `docker://${host}/${name}`);
  assert.equal((await pull("first-organization/team/of-the-team:1")).code, 0);
  const { uid: root } = ((await world.ok("registry.ReposService/ListRepos", { name: "of-the-root" })).repos as { uid: string }[])[0] ?? { uid: "" };
  for (const name of ["first-organization/of-the-root:1", `${root}:1`]) {
    const refused = await pull(name);
    assert.notEqual(refused.code, 0);
    assert.match(refused.err, /unauthorized: the registry token does not permit pull/);
    const absent = await pull(name.replace("of-the-root", "not-there-xyz").replace(root, `${world.organization}/${"0".repeat(16)}`));
    assert.match(absent.err, /unauthorized: the registry token does not permit pull/, "as for what is not there");
  }
});

test("a CI job logs in with only its issuer's token, and pushes and pulls", { skip }, async (t) => {
  const [world, issuer] = await Promise.all([openWorld(), startIssuer()]);
  t.after(() => Promise.all([world.close(), issuer.close()]));
  const host = hostOf(world);
  const identity = { name: "ci", claimMatch: { issuer: issuer.url, subject: "repo:acme/shop" } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  const roleBinding = { identityUid: uid, roleUid: builtInRoleUid("registry.push") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding });
  const authfile = ["--authfile", join(folder, "auth.json")];
  const login = (token: string) => skopeoReading(token, "login", ...authfile, "--tls-verify=false", "--username", uid, "--password-stdin", host);
  assert.notEqual((await login(await issuer.token({ sub: "repo:acme/other", aud: host }))).code, 0);
  const { code, err } = await login(await issuer.token({ sub: "repo:acme/shop", aud: host }));
  assert.equal(code, 0, err);
  const layout = join(folder, "ci");
  await writeLayout(layout, ["amd64"]);
  const reference = `docker://${host}/first-organization/shop/app:1`;
  await done("copy", "--all", ...authfile, "--dest-tls-verify=false", `oci:${layout}:all`, reference);
  assert.match(await done("inspect", "--raw", ...authfile, "--tls-verify=false", reference), /amd64/);
});
