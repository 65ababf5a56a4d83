// How-to pages: each has the commands of one task, for resources that exist. `given` creates them.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { stopAll } from "../story/processes.ts";
import { readGuide } from "./page.ts";
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
gantry() { npx gantry "$@"; }
make_group() { gantry iam groups get "$@" >/dev/null 2>&1 || gantry iam groups create --name "\${1##*/}" $([ "$1" = "\${1%/*}" ] || echo --parent "\${1%/*}") >/dev/null; }
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
  "how-to/pull-tokens.md": { given: "UID_OF_THE_TOKEN=" },
  "how-to/request-libraries.md": { given: "printf 'requests==2.32.3\\nflask>=2\\n' >requirements.txt" },
  "how-to/end-of-life.md": { given: `push acme/harbour:2.0; ${uidOf("acme/harbour")}`, leftOut: /git clone|oras/ },
  "how-to/scan-reports.md": { given: `push acme/app:v1; ${uidOf("acme/app")}`, leftOut: /grype -o|oras/ },
  "how-to/affected-images.md": { given: "mkdir repos" },
};

/** Pages with commands that no test runs, with the reason. */
const untested: Readonly<Record<string, string>> = {};

const docs = join(import.meta.dirname, "..", "..", "docs");

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
