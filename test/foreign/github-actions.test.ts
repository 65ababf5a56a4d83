// The README's commands for a GitHub job: docker logs in with the job's own token only, and clients that read docker's file can push. There is
// no Docker engine here, so skopeo stands in for `docker push`. Skipped if a program is not installed.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { builtInRoleUid } from "#authz";
import { text } from "#base/json.ts";
import { startIssuer } from "../story/processes.ts";
import { freePort } from "../free-port.ts";
import { openWorld } from "../world.ts";

const findProgram = (name: string): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .map((each) => join(each, name))
    .find(existsSync);
const missing = ["bash", "curl", "docker", "jq", "skopeo"].filter((name) => findProgram(name) === undefined);
const skip = missing.length === 0 ? false : `NOT TESTED: ${missing.join(", ")} not installed`;

const folder = await mkdtemp(join(tmpdir(), "gantry-actions-"));
after(() => rm(folder, { recursive: true, force: true }));

/** Returns the step's shell lines from docs/how-to/push-and-pull.md. */
const readLines = async (): Promise<string> => {
  const page = await readFile(join(import.meta.dirname, "..", "..", "docs", "how-to", "push-and-pull.md"), "utf8");
  const [, yaml = ""] = /```yaml\n(permissions: \{ id-token: write \}[\s\S]*?)```/.exec(page) ?? [];
  const [, lines] = /- run: \|\n([\s\S]*)$/.exec(yaml) ?? [];
  assert.ok(lines);
  return lines.replace(/^ {6}/gm, "");
};

test("the GitHub job's commands log in and push with the job's own token, and fail with another job's", { skip }, async (t) => {
  const [world, issuer] = await Promise.all([openWorld(), startIssuer()]);
  const host = world.url.replace("http://", "");
  const identity = { name: "ci", claimMatch: { issuer: issuer.url, subject: "repo:acme/shop:ref:refs/heads/main" } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  const roleBinding = { identityUid: uid, roleUid: builtInRoleUid("registry.push") };
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent: world.organization, roleBinding });

  // GitHub issues a token for the audience in the query to the holder of the job's own secret.
  let subject = "";
  const service = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
    if (request.headers.authorization !== "Bearer of-the-job") return void response.writeHead(401).end();
    void issuer
      .token({ sub: subject, aud: searchParams.get("audience") ?? "" })
      .then((value) => response.setHeader("content-type", "application/json").end(JSON.stringify({ count: 1, value })));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => service.listen(port, "127.0.0.1", resolve));
  t.after(() => Promise.all([world.close(), issuer.close(), new Promise((resolve) => service.close(resolve))]));

  // An image to push, and a `docker` whose push is skopeo's, with the file that the real docker wrote.
  await mkdir(join(folder, "rootfs"));
  await writeFile(join(folder, "rootfs", "file"), randomBytes(10_000));
  execFileSync("tar", ["cf", join(folder, "layer.tar"), "-C", join(folder, "rootfs"), "file"]);
  await writeFile(
    join(folder, "docker"),
    `#!/bin/sh
if [ "$1" = push ]; then exec skopeo copy --dest-tls-verify=false --dest-authfile "$DOCKER_CONFIG/config.json" tarball:${folder}/layer.tar "docker://$2"; fi
exec ${findProgram("docker")} "$@"\n`,
    { mode: 0o755 },
  );
  const lines = (await readLines()).replaceAll("gantry.example.com", host).replace("/acme/shop/", "/first-organization/shop/");
  const run = (as: string): Promise<number> =>
    new Promise((resolve) => {
      subject = as;
      const env = {
        PATH: `${folder}${delimiter}${process.env.PATH}`,
        HOME: folder,
        DOCKER_CONFIG: join(folder, "configuration"),
        XDG_RUNTIME_DIR: folder,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job",
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
        IDENTITY_UID: uid,
      };
      // As GitHub runs it.
      execFile("bash", ["-e", "-c", lines], { env, timeout: 60_000 }, (error) => resolve(error ? Number(error.code ?? 1) : 0));
    });
  assert.notEqual(await run("repo:acme/other:ref:refs/heads/main"), 0);
  assert.equal((await world.ok("registry.ReposService/ListRepos", { name: "app" })).totalCount, "0");
  assert.equal(await run("repo:acme/shop:ref:refs/heads/main"), 0);
  assert.equal((await world.ok("registry.TagsService/ListTags", { name: "1.0" })).totalCount, "1");
});
