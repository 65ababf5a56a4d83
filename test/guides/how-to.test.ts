// How-to pages: each has the commands of one task, for resources that exist. `given` creates them.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { stopAll } from "../story/processes.ts";
import { jobPages } from "./page.ts";
import { openReaderServer, type ReaderServer, readPreparation, sharedGuides, skipped } from "./test-guide.ts";
import { stepsOf } from "./walk.ts";

interface Page {
  /** Commands before those of the page. */
  readonly given?: string;
  /** Whether the page itself creates the organization acme. */
  readonly isFirst?: boolean;
  /** Blocks that need a program or a service which the project does not have. */
  readonly leftOut?: RegExp;
}

const shell = `
set -u
export GANTRY_SERVER=$BASE GANTRY_TOKEN=$TOKEN
make_group() {
  gantry iam groups get "$1" >/dev/null 2>&1 && return
  case "$1" in */*) set -- "\${1##*/}" --parent "\${1%/*}" ;; esac
  gantry iam groups create --name "$@" >/dev/null
}
push() {
  npx gantry token | skopeo login --tls-verify=false --username _token --password-stdin 127.0.0.1:8080 >/dev/null
  mkdir -p layer && echo "$1" >layer/file && tar -cf layer.tar -C layer file
  skopeo copy --quiet --dest-tls-verify=false tarball:layer.tar "docker://127.0.0.1:8080/$1"
}
`;

const acme = `make_group acme
GROUP=$(gantry iam groups get acme -o uid)
`;

const uidOf = (repo: string): string => `REPO=$(gantry registry repos get ${repo} -o uid)\n`;

const pages: Readonly<Record<string, Page>> = {
  "guides/command-line.md": { isFirst: true, leftOut: /export GANTRY_SERVER/ },
  "how-to/retention.md": { given: "push acme/team/app:1.0" },
  "how-to/immutable-tags.md": {
    given: `make_group acme/prod; push acme/app:stable; push acme/app:rc1
      skopeo inspect --tls-verify=false --raw docker://127.0.0.1:8080/acme/app:stable >manifest.json`,
  },
  "how-to/restore-deleted.md": { given: `push acme/bin:1.0; ${uidOf("acme/bin")} gantry registry repos delete acme/bin --yes` },
  "how-to/delete-in-bulk.md": { given: `push acme/many:1.0; ${uidOf("acme/many")}` },
  "how-to/pull-tokens.md": { given: "UID_OF_THE_TOKEN=$(gantry iam pull-tokens create --group acme --name old --json | jq -r .uid)" },
  "how-to/request-libraries.md": { given: "printf 'requests==2.32.3\\nflask>=2\\n' >requirements.txt" },
  "how-to/end-of-life.md": { given: `push acme/harbour:2.0; ${uidOf("acme/harbour")}`, leftOut: /git clone|oras/ },
  "how-to/scan-reports.md": {
    given: `push acme/app:v1; ${uidOf("acme/app")} HEX=$(gantry registry tags get acme/app:v1 -o json | jq -r .digest | cut -d: -f2)`,
    leftOut: /grype -o|oras/,
  },
  "how-to/image-contents.md": {
    given: `push acme/read:1.0; HEX=$(gantry registry tags get acme/read:1.0 -o json | jq -r .digest | cut -d: -f2)
      REPO=$(gantry registry repos get acme/read -o json | jq -r .uid)`,
    // test/registry/image-packages.test.ts runs them.
    leftOut: /registry images (?:diff|sbom)/,
  },
  "how-to/affected-images.md": {
    given: `mkdir repos; echo '{"repo": "till", "tags": [{"name": "1.0", "digest": "sha256:'$(printf %064d 7)'"}]}' >repos/till.json
      echo '{"image": "till", "repo": "till", "tags": ["1.0"], "configs": {"amd64": {"packages": ["zlib=1.3-r1"]}}}' >locked-configs.jsonl`,
  },
  "how-to/due-dates.md": {},
  "how-to/trust-vex.md": {
    given: `make_group acme
      printf '%s\\n' '-----BEGIN PUBLIC KEY-----' MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE= '-----END PUBLIC KEY-----' >supplier.pub`,
  },
  "how-to/decide-findings.md": {
    given: `make_group acme/harbour
      echo '{"image": "till", "repo": "till", "tags": ["1.0"], "configs": {"amd64": {"packages": ["zlib=1.3-r1"]}}}' >till.jsonl
      printf '%s\\n' '{"schema-version": "2.0.2", "package": {"name": "zlib"}, "advisories": [{"id": "CGA-4444-5555-6666",' \\
        '"aliases": ["CVE-2023-45853"], "events": [{"timestamp": "2023-10-14T00:00:00Z", "type": "fixed", "data": {"fixed-version": "1.3-r2"}}]}]}' >zlib.json
      gantry import images till.jsonl --group acme/harbour
      gantry import advisories zlib.json --group acme/harbour`,
    // Needs scanners, images with a digest, and a second person; test/story/decisions-export.test.ts and decision-approvals.test.ts run it.
    leftOut: /decisions export|:export|decisions approve/,
  },
};

/** Pages with commands that another test runs. */
const elsewhere: Readonly<Record<string, string>> = {
  "guides/operations.md": "test/guides/first-steps.test.ts",
  "guides/api-tour.md": "test/foreign/api-tour.test.ts",
  "guides/mcp.md": "test/foreign/mcp-guide.test.ts",
  "guides/ci-identities.md": "test/attacks/ci-identities.test.ts",
  "guides/ci-identities/aws.md": "test/guides/ci-jobs.test.ts",
};

/** Pages with commands that no test runs, with the reason. */
const untested: Readonly<Record<string, string>> = {
  "guides/ci-identities/private-authorities.md": "starts the server with files of an organization",
  "guides/clients-go.md": "needs modules from the internet",
  "guides/clients-python.md": "needs packages from the internet",
  "guides/clients-typescript.md": "builds the client; test/packaging tests the built one",
  "guides/several-machines.md": "needs several machines; test/story/fail-over.test.ts runs its configurations",
  "how-to/check-images-in-ci.md": "fails by design; test/story/findings-check.test.ts runs the command",
  "how-to/charts-and-signatures.md": "needs helm, oras and cosign",
  "how-to/contexts.md": "needs an identity provider",
  "how-to/go-sdk.md": "needs modules from the internet",
  "how-to/import-advisories.md": "needs the NVD and a key of it",
  "how-to/kubernetes-pull-secrets.md": "needs a cluster",
  "how-to/log-in-with-docker.md": "needs a browser; test/story tests the commands",
  "how-to/publish-advisories.md": "needs csaf_checker; test/foreign runs it where Go is installed",
  "how-to/push-and-pull.md": "needs an image from the internet; guides/registry.md has the same commands",
  "how-to/scanners.md": "needs scanners; test/foreign runs those that are installed",
  "how-to/scim.md": "needs an identity provider; test/story tests the commands",
  "how-to/sign-in-providers.md": "needs accounts at identity providers",
  "how-to/sign-in.md": "starts the server with another configuration",
  "how-to/terraform.md": "needs Terraform",
  "how-to/upload-sboms.md": "needs oras",
  "operate/back-up.md": "needs a standby; test/story/backup.test.ts runs the commands",
  "operate/health.md": "takes five minutes; test/story/doctor.test.ts runs the other commands",
  "operate/install.md": "needs root, an engine and a cluster; test/packaging tests each package",
  "operate/logs.md": "starts the server with another configuration",
  "operate/metrics.md": "starts the server with another configuration",
  "operate/network.md": "has settings only",
  "operate/postgresql.md": "needs a PostgreSQL server with two roles",
  "operate/proxy.md": "needs a proxy",
  "operate/scale.md": "starts the server with another configuration",
  "operate/sizing.md": "takes 40 minutes",
  "operate/storage.md": "needs S3; test/registry runs the commands",
  "operate/tls.md": "needs a certificate; test/story tests the settings",
  "operate/traces.md": "needs a collector; test/story tests the setting",
};

const docs = join(import.meta.dirname, "..", "..", "docs");

test("every page with commands is run by a test or has a reason why not, and is listed once", async () => {
  const found: string[] = [];
  for (const folder of ["concepts", "guides", "guides/ci-identities", "how-to", "operate"])
    for (const name of await readdir(join(docs, folder)))
      if (name.endsWith(".md") && stepsOf(await readFile(join(docs, folder, name), "utf8")).length > 0) found.push(`${folder}/${name}`);
  const shared = sharedGuides.filter((page) => page !== "README.md").map((page) => join("guides", page));
  const jobs = jobPages.map((page) => `guides/ci-identities/${page}.md`);
  assert.deepEqual([...Object.keys(pages), ...shared, ...jobs, ...Object.keys(elsewhere), ...Object.keys(untested)].sort(), found.sort());
  for (const file of Object.values(elsewhere)) assert.ok(existsSync(join(docs, "..", file)), file);
});

suite("how-to pages on one server", { skip: skipped(["skopeo", "tar", "jq"]) }, () => {
  let reader: ReaderServer;
  before(async () => {
    reader = await openReaderServer();
  });
  after(async () => {
    await reader?.close();
    await stopAll();
  });
  for (const [page, { given = "", isFirst = false, leftOut }] of Object.entries(pages))
    test(`every command of ${page} runs, and prints what the page shows`, async () => {
      const steps = stepsOf(await readFile(join(docs, page), "utf8")).filter(({ commands }) => leftOut?.test(commands) !== true);
      assert.ok(steps.length > 0);
      const own = steps.map(({ commands, shown }) => ({ commands: commands.replaceAll("https://gantry.example.com", "http://127.0.0.1:8080"), shown }));
      await reader.follow([...(await readPreparation()), { commands: `${shell}${isFirst ? "" : acme}${given}`, shown: undefined }, ...own]);
    });
});
