// `gantry import`: fills the server from files and feeds.

import type { Command } from "commander";
import {
  type Application,
  type FeedKind,
  findImportGroup,
  findNamedGroup,
  importFeed,
  importOciLayout,
  importRegistry,
  importReports,
  readSettings,
  undoImport,
} from "#application";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import { readDuration } from "../duration.ts";
import { openProgressBar } from "../progress-bar.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly group?: string;
  readonly public?: boolean;
  readonly private?: boolean;
  readonly licence?: string;
  readonly format?: string;
  readonly author?: string;
  readonly repo?: string;
  readonly keyFile?: string;
  readonly digest?: string;
  readonly allowWithdrawals?: boolean;
  readonly allowOlder?: boolean;
  readonly staleAfter?: string;
  readonly kind?: string;
}

/** "keyFile": "key-file". */
const flagOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const feedKinds: readonly FeedKind[] = ["advisories", "vulnerabilities", "libraries", "images", "lifecycle"];

/** Undefined where nothing is said of it. */
const readPublic = ({ public: isPublic = false, private: isPrivate = false }: Options): boolean | undefined => {
  if (isPublic && isPrivate) throw new Fault("INVALID_ARGUMENT", "give --public or --private, not both");
  return isPublic || isPrivate ? isPublic : undefined;
};

const findGroup = async (call: Application["call"], group: string | undefined): Promise<string> =>
  findImportGroup(call, group === undefined ? undefined : await findNamedGroup(call, group, "--group: "), "--group");

const importFeedSources = async (terminal: Terminal, kind: FeedKind, sources: readonly string[], options: Options): Promise<void> =>
  withApplication(terminal, async ({ services, call }) => {
    const { out, err } = terminal;
    const bar = openProgressBar(err, { lines: true });
    const group = await findGroup(call, options.group);
    const summary = await importFeed(services, {
      kind,
      group,
      sources,
      public: readPublic(options),
      license: options.licence,
      format: options.format,
      author: options.author,
      keyFile: options.keyFile,
      allowWithdrawals: options.allowWithdrawals === true,
      allowOlder: options.allowOlder === true,
      staleAfterMs: options.staleAfter === undefined ? undefined : readDuration("--stale-after", options.staleAfter, limits.feedStaleHoursMax * 3_600_000),
      progress: bar.update,
    });
    bar.end();
    for (const refusal of summary.refused) err.write(`refused ${refusal}\n`);
    if (summary.refusals > summary.refused.length) err.write(`refused ${summary.refusals - summary.refused.length} more\n`);
    for (const remark of summary.remarks) err.write(`note ${remark}\n`);
    for (const document of summary.unmatched) err.write(`kept as it came in, and not all of it is matched with images: ${document}\n`);
    for (const line of summary.held) err.write(`held back ${line}\n`);
    for (const failure of summary.failed) err.write(`failed ${failure}\n`);
    for (const line of summary.passedOver) err.write(`passed over ${line}\n`);
    for (const [label, count] of [
      ["passed over", summary.passedOverFiles],
      ["unchanged", summary.filesUnchanged],
    ] as const) {
      if (count > 0) err.write(`${count} of ${summary.files} files ${label}\n`);
    }
    out.write(
      `${kind}: ${summary.new} new, ${summary.changed} changed, ${summary.withdrawn} withdrawn, ${summary.unchanged} unchanged, ${summary.refusals} refused\n`,
    );
    terminal.status = summary.failed.length > 0 ? 1 : summary.refusals > 0 || summary.held.length > 0 ? 2 : 0;
  });

const importRegistryFolders = async (terminal: Terminal, sources: readonly string[], options: Options): Promise<void> => {
  for (const name of ["public", "private", "licence", "format", "author", "keyFile", "digest", "allowWithdrawals", "allowOlder", "staleAfter"] as const) {
    if (options[name] !== undefined) throw new Fault("INVALID_ARGUMENT", `--${flagOf(name)} does not apply to gantry import registry`);
  }
  return withApplication(terminal, async ({ kernel, call }) => {
    const { out, err } = terminal;
    const bar = openProgressBar(err);
    const group = await findGroup(call, options.group);
    const { repos, tags, manifests, refused } = await importRegistry(kernel, { group, sources, progress: bar.update });
    bar.end();
    for (const refusal of refused) err.write(`refused ${refusal}\n`);
    out.write(
      `${repos.seen} repos (${repos.made} new), ${tags.seen} tags (${tags.made} new or moved), ` +
        `${manifests.seen} manifests (${manifests.made} new), ${refused.length} refused\n`,
    );
    if (refused.length > 0) terminal.status = 2;
  });
};

const importLayouts = async (terminal: Terminal, folders: readonly string[], { repo, ...others }: Options): Promise<void> => {
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) throw new Fault("INVALID_ARGUMENT", `--${flagOf(name)} does not apply to gantry import oci`);
  if (repo === undefined) throw new Fault("INVALID_ARGUMENT", "name the repo: gantry import oci DIR --repo NAME");
  return withApplication(terminal, async (application) => {
    const { out, err } = terminal;
    const bar = openProgressBar(err, { lines: true });
    for (const folder of folders) {
      const { manifests, blobs, refused } = await importOciLayout(application, { folder, repo, progress: bar.update });
      bar.end();
      for (const refusal of refused) err.write(`refused ${folder}: ${refusal}\n`);
      out.write(`${folder}: ${manifests} manifests, ${blobs} blobs sent, ${refused.length} refused\n`);
      if (refused.length > 0) terminal.status = 2;
    }
  });
};

const importScannerReports = async (terminal: Terminal, sources: readonly string[], { group: groupName, repo, digest, ...others }: Options): Promise<void> => {
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) throw new Fault("INVALID_ARGUMENT", `--${flagOf(name)} does not apply to gantry import reports`);
  return withApplication(terminal, async ({ services, call }) => {
    const { out, err } = terminal;
    const bar = openProgressBar(err, { lines: true });
    const group = await findGroup(call, groupName);
    const summary = await importReports(services, { group, sources, repo, digest, progress: bar.update });
    bar.end();
    for (const refusal of summary.refused) err.write(`refused ${refusal}\n`);
    out.write(`reports: ${summary.new} new, ${summary.unchanged} unchanged, ${summary.refused.length} refused\n`);
    if (summary.refused.length > 0) terminal.status = 2;
  });
};

const undoLastImport = async (terminal: Terminal, sources: readonly string[], { group, kind: word, ...others }: Options): Promise<void> => {
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) throw new Fault("INVALID_ARGUMENT", `--${flagOf(name)} does not apply to gantry import undo`);
  const [source, other] = sources;
  if (source === undefined || other !== undefined) throw new Fault("INVALID_ARGUMENT", "name exactly one source: gantry import undo SOURCE");
  const kind = feedKinds.find((each) => each === word);
  if (word !== undefined && kind === undefined) throw new Fault("INVALID_ARGUMENT", `--kind must be one of ${feedKinds.join(", ")}`);
  const { documentMs } = readSettings(terminal.environment).periods;
  return withApplication(terminal, async ({ services, call }) => {
    const uid = group === undefined ? undefined : await findNamedGroup(call, group, "--group: ");
    const done = await undoImport(services, { source, kind, group: uid, documentMs });
    terminal.out.write(`${done.kind}: last import of ${done.source} reverted: ${done.new} new, ${done.changed} changed, ${done.withdrawn} withdrawn\n`);
  });
};

export const importCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "import",
    usage:
      "KIND SOURCE… [--group GROUP] [--public|--private] [--licence ID] [--format NAME] [--author NAME] [--key-file FILE] [--repo NAME] " +
      "[--digest DIGEST] [--kind KIND] [--allow-withdrawals] [--allow-older] [--stale-after TIME]",
    description: `Fills the server. KIND is one of

  oci              images: an OCI layout (a folder with index.json and blobs), into the repo that --repo names
  registry         repos, tags and what is known of their images: a folder of JSON files, one per repo
  advisories       Wolfi and Chainguard advisory documents, OSV, RustSec, GitHub's advisories, Alpine secdb, Debian's
                   tracker, OpenVEX, CSAF, CycloneDX VEX
  vulnerabilities  CVE JSON 5, distilled CVE records (JSON Lines), the NVD's API, OSV, RustSec, GitHub's advisories; what
                   is exploited (CISA KEV) and what may be (EPSS)
  libraries        artifact lists (JSON Lines), PyPI's simple JSON, Maven's metadata
  images           what images are made of (JSON Lines), and which package is built from which
  lifecycle        when versions of products are released and end (endoflife.date): for the group and those below it
  reports          what scanners found in images: Grype's and Trivy's JSON, SARIF; files and folders. A report counts for the
                   image that it names by its digest, in the repos that have it, or in --repo; --digest says which where it
                   names none

A SOURCE is a file, a folder or zip archive with all below it, or an https address; gzip is seen through, a list of
documents is read one by one, and archives and lists are of any size. The metadata of a CSAF provider, by its address
or domain, a ROLIE feed and the APIs of the NVD and of GitHub are followed to all that they lead to. What a
file is shows in its content, not in its name. A file that is the same as the last time is not read again, and a
second run writes nothing; what no source tells any longer is withdrawn here, and of several that tell the same the
latest modified counts. Without --public and --private what is public stays so and what is new is not. An import that
was stopped goes on when it is started again. Works beside a running server and without one.`,
    notes: `Exit status: 0 all imported, 2 some records were refused (each is named with file and line) or held back, 1 failed.

Held back: an empty source, one that has lost more than 10 % of its records (at least 5), and records with an earlier
modification time change nothing that is stored. Everything else of the source is imported. What is missing is withdrawn
with --allow-withdrawals, or when the same records are missing for 72 hours; an empty source only with the option.

Examples:
  gantry import oci ./images --repo first-organization/app
  gantry import registry ./official-image-tags
  gantry import advisories ./advisories --public --licence Apache-2.0
  gantry import vulnerabilities cve.jsonl ./osv ./rustsec
  gantry import advisories https://secdb.alpinelinux.org/v3.22/main.json
  gantry import advisories https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip
  gantry import advisories https://security-tracker.debian.org/tracker/data/json
  gantry import advisories 'https://api.github.com/advisories?per_page=100'
  gantry import advisories example.com
  gantry import advisories https://example.com/.well-known/csaf/provider-metadata.json
  gantry import advisories ./product.vex.cdx.json
  gantry import vulnerabilities https://services.nvd.nist.gov/rest/json/cves/2.0 --key-file nvd.key
  gantry import vulnerabilities --public \\
    https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json
  gantry import vulnerabilities https://epss.cyentia.com/epss_scores-current.csv.gz --public
  gantry import lifecycle ./endoflife-date
  gantry import reports grype.json trivy.json
  gantry import reports ./scans --repo first-organization/app --digest sha256:…
  gantry import libraries artifacts.jsonl --group acme
  gantry import advisories https://example.com/all.zip --allow-withdrawals
  gantry import undo https://example.com/all.zip`,
  })
    .argument("[KIND]")
    .argument("[SOURCE...]")
    .option("--group <GROUP>", "the group that it is for, by its uid or its path of names (the only organization when none is named)")
    .option("--public", "the open operations of the Advisory domain show it too")
    .option("--private", "the open operations show it no longer")
    .option("--licence <ID>", "the licence of what the sources tell (SPDX); what it does not allow to publish is not published (unknown)")
    .option("--format <NAME>", "refuse files of other formats than this one")
    .option("--author <NAME>", "who the advisories and their events are by (the format's own word)")
    .option("--allow-withdrawals", "withdraw everything that the sources no longer have, even if a source is empty or has lost many records")
    .option("--allow-older", "replace records by ones with an earlier modification time")
    .option("--stale-after <TIME>", "how long after a success the sources are up to date: 12h, 30d (as before; GANTRY_FEED_STALE_HOURS)")
    .option("--kind <KIND>", "undo: what the source was imported as, if it was imported as several")
    .option("--repo <NAME>", "oci: the repo, by its path of names or its uid; made where it does not exist. reports: the repo of the image")
    .option("--digest <DIGEST>", "reports: the image (as the report names it)")
    .option("--key-file <FILE>", "a file with the key or token that the host of the address wants (the NVD's, GitHub's)")
    .action(async (word: string | undefined, sources: readonly string[], options: Options) => {
      const kind = feedKinds.find((each) => each === word);
      if (kind === undefined && word !== "registry" && word !== "oci" && word !== "reports" && word !== "undo") {
        throw new Fault(
          "INVALID_ARGUMENT",
          `cannot import ${JSON.stringify(word ?? "")}; must be one of oci, registry, ${feedKinds.join(", ")}, reports, undo`,
        );
      }
      if (sources.length === 0 && word !== "undo") {
        const wanted = kind ? "file, folder or address" : "folder or file";
        throw new Fault("INVALID_ARGUMENT", `name at least one ${wanted}: gantry import ${word} ${kind ? "SOURCE" : "DIR"}`);
      }
      if (word === "oci") return importLayouts(terminal, sources, options);
      if (word === "undo") return undoLastImport(terminal, sources, options);
      if (options.kind !== undefined) throw new Fault("INVALID_ARGUMENT", "--kind applies to gantry import undo only");
      if (word === "reports") return importScannerReports(terminal, sources, options);
      if (options.repo !== undefined) throw new Fault("INVALID_ARGUMENT", "--repo applies to gantry import oci and gantry import reports only");
      if (options.digest !== undefined) throw new Fault("INVALID_ARGUMENT", "--digest applies to gantry import reports only");
      await (kind ? importFeedSources(terminal, kind, sources, options) : importRegistryFolders(terminal, sources, options));
    });
