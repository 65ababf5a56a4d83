// `gantry import`: import data from files and feeds.

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

/** "keyFile" becomes "key-file". */
const flagOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const feedKinds: readonly FeedKind[] = ["advisories", "vulnerabilities", "libraries", "images", "lifecycle"];

const readPublic = ({ public: isPublic = false, private: isPrivate = false }: Options): boolean | undefined => {
  if (isPublic && isPrivate) throw new Fault("INVALID_ARGUMENT", "--public and --private cannot be used together");
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
    for (const document of summary.unmatched) err.write(`stored unchanged, and matched with images only in part: ${document}\n`);
    for (const line of summary.held) err.write(`held back ${line}\n`);
    for (const failure of summary.failed) err.write(`failed ${failure}\n`);
    for (const line of summary.passedOver) err.write(`skipped ${line}\n`);
    for (const [label, count] of [
      ["skipped", summary.passedOverFiles],
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
  if (repo === undefined) throw new Fault("INVALID_ARGUMENT", "--repo required: gantry import oci DIR --repo NAME");
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
  if (source === undefined || other !== undefined) throw new Fault("INVALID_ARGUMENT", "exactly one source required: gantry import undo SOURCE");
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
    description: `Import data into the server. KIND is one of

  oci              images: an OCI layout (a directory with index.json and blobs), into the repo of --repo
  registry         repos, tags and image metadata: a directory of JSON files, one per repo
  advisories       Wolfi and Chainguard advisory documents, OSV, RustSec, GitHub's advisories, Alpine secdb, Debian's
                   tracker, OpenVEX, CSAF, CycloneDX VEX
  vulnerabilities  CVE JSON 5, distilled CVE records (JSON Lines), the NVD's API, OSV, RustSec, GitHub's advisories;
                   known exploitation (CISA KEV) and its probability (EPSS)
  libraries        artifact lists (JSON Lines), PyPI's simple JSON, Maven's metadata
  images           contents of images and sources of packages (JSON Lines)
  lifecycle        release and end-of-life dates of products (endoflife.date), for the group and the groups below it
  reports          scan reports of images: Grype's and Trivy's JSON, SARIF; files and directories. A report applies to the
                   image with its digest, in every repo that has it, or in --repo. If a report has no digest, add --digest

SOURCE is a file, a directory or zip archive with everything in it, or an https URL. Gzip is decompressed, lists of
documents are read one by one, and archives and lists can have any size. From the metadata of a CSAF provider (a URL or
a domain), a ROLIE feed, or the API of the NVD or GitHub, the import follows links to all documents. The content of a
file determines its format, not its name. Unchanged files are not read again, and a second run writes nothing. Records
that no source has any longer are withdrawn. If several sources have a record, the last modified one applies. Without
--public and --private, public records stay public and new records are private. To resume a stopped import, run it
again. The server can be running or stopped.`,
    notes: `Exit status: 0 success, 2 some records were refused (listed with file and line) or held back, 1 failed.

Held back: an empty source, a source that lost more than 10 % of its records (at least 5), and records with an earlier
modification time leave the stored records unchanged. The rest of the source is imported. Missing records are withdrawn
with --allow-withdrawals, or after they are missing for 72 hours; those of an empty source only with the option.

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
    .option("--group <GROUP>", "Group of the data: its uid or path of names (default: the only organization)")
    .option("--public", "Publish the records through the public operations of the Advisory domain")
    .option("--private", "Stop publishing the records")
    .option("--licence <ID>", "SPDX license of the sources; data that it does not allow to publish is not published (default: unknown)")
    .option("--format <NAME>", "Refuse files of any other format")
    .option("--author <NAME>", "Author of the advisories and their events (default: from the document)")
    .option("--allow-withdrawals", "Withdraw all records that are missing from the sources, even if a source is empty or lost many records")
    .option("--allow-older", "Replace records with ones that have an earlier modification time")
    .option("--stale-after <TIME>", "How long the sources are up to date after a success, such as 12h or 30d (default: unchanged, or GANTRY_FEED_STALE_HOURS)")
    .option("--kind <KIND>", "undo: kind of the import, if the source was imported as several kinds")
    .option("--repo <NAME>", "oci: repo, by its path of names or uid; created if it does not exist. reports: repo of the image")
    .option("--digest <DIGEST>", "reports: digest of the image (default: from the report)")
    .option("--key-file <FILE>", "File with the API key or token for the host of the URL (NVD, GitHub)")
    .action(async (word: string | undefined, sources: readonly string[], options: Options) => {
      const kind = feedKinds.find((each) => each === word);
      if (kind === undefined && word !== "registry" && word !== "oci" && word !== "reports" && word !== "undo") {
        throw new Fault(
          "INVALID_ARGUMENT",
          `cannot import ${JSON.stringify(word ?? "")}; must be one of oci, registry, ${feedKinds.join(", ")}, reports, undo`,
        );
      }
      if (sources.length === 0 && word !== "undo") {
        const wanted = kind ? "file, directory or URL" : "directory or file";
        throw new Fault("INVALID_ARGUMENT", `at least one ${wanted} required: gantry import ${word} ${kind ? "SOURCE" : "DIR"}`);
      }
      if (word === "oci") return importLayouts(terminal, sources, options);
      if (word === "undo") return undoLastImport(terminal, sources, options);
      if (options.kind !== undefined) throw new Fault("INVALID_ARGUMENT", "--kind applies to gantry import undo only");
      if (word === "reports") return importScannerReports(terminal, sources, options);
      if (options.repo !== undefined) throw new Fault("INVALID_ARGUMENT", "--repo applies to gantry import oci and gantry import reports only");
      if (options.digest !== undefined) throw new Fault("INVALID_ARGUMENT", "--digest applies to gantry import reports only");
      await (kind ? importFeedSources(terminal, kind, sources, options) : importRegistryFolders(terminal, sources, options));
    });
