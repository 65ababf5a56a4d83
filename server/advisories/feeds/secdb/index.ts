// Serves fixes in Alpine's secdb format for builders of scanner databases. Open (docs/decisions/0027); a token adds what its
// caller may read (docs/decisions/0043). Omitted advisories are listed in /advisory/v2/secdb/all.json.
//
//   /secdb/<distribution>/security.json     ours, one file for each distribution; "os" is Wolfi, by its repository name
//   /secdb/alpine/                          a listing of the imported releases
//   /secdb/alpine/<release>/                a listing of a release's files
//   /secdb/alpine/<release>/<repository>.json, .yaml

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { findDocumentsOf, findDocumentsOfForm, findOwnArtifacts, findSourceDocuments, type Reader } from "#advisories/store";
import { byNumber } from "../documents/entries.ts";
import { type DocumentRequest, type DocumentResponse, type Feed, respond, respondInPieces } from "../documents/index.ts";
import { ownPackages } from "../documents/own-packages.ts";
import { choosePresent, choosePublished } from "../documents/published.ts";
import { secdbDistribution, secdbPackage } from "../documents/secdb.ts";
import type { OsvEndpoint } from "../osv/index.ts";
import { textOfStored, valueOfStored } from "../stored-document.ts";
import { yamlOf } from "./yaml.ts";

/** Others are served only at /advisory/v2/secdb. */
const releaseForm = /^(v[0-9][A-Za-z0-9._-]*|edge)\/([A-Za-z][A-Za-z0-9._-]*)$/;

const findReleases = async (reader: Reader): Promise<Map<string, string[]>> => {
  const releases = new Map<string, string[]>();
  const size = limits.documentPageRows;
  for (let after = ""; ; ) {
    const found = await findDocumentsOfForm(reader, "secdb", after, size);
    const numbers = byNumber(found, found.length >= size);
    for (const documents of numbers) {
      const [, release, repository] = releaseForm.exec(documents[0].originId) ?? [];
      if (release === undefined || repository === undefined || !choosePresent("secdb", documents)) continue;
      releases.set(release, [...(releases.get(release) ?? []), repository]);
    }
    const last = numbers.at(-1);
    if (!last || found.length < size) return releases;
    after = last[0].originId;
  }
};

/** Clients take any link on the page for a release, so there are no others. Names need no escaping (releaseForm). */
const listing = (title: string, names: readonly string[]): string =>
  `<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>${title}</title></head>\n<body>\n<h1>${title}</h1>\n<pre>\n${names
    .map((name) => `<a href="${name}">${name}</a>\n`)
    .join("")}</pre>\n</body>\n</html>\n`;

const html = "text/html; charset=utf-8";

const listReleases = async (feed: Feed, request: DocumentRequest): Promise<DocumentResponse> => {
  const releases = [...(await findReleases(feed.reader)).keys()].sort();
  return respond(
    request,
    html,
    listing(
      "secdb",
      releases.map((release) => `${release}/`),
    ),
  );
};

const listFiles = async (feed: Feed, release: string, request: DocumentRequest): Promise<DocumentResponse> => {
  const repositories = (await findReleases(feed.reader)).get(release);
  if (!repositories) throw new Fault("NOT_FOUND", `release not found: ${release}`);
  return respond(
    request,
    html,
    listing(
      release,
      repositories.sort().flatMap((repository) => [`${repository}.json`, `${repository}.yaml`]),
    ),
  );
};

const readRelease = async (feed: Feed, number: string, isYaml: boolean, request: DocumentRequest): Promise<DocumentResponse> => {
  const documents = await findDocumentsOf(feed.reader, [number], limits.osvRecordsMax);
  const [document, { leftOut }] = [choosePresent("secdb", documents), choosePublished("secdb", documents)];
  const [stored] = document ? await findSourceDocuments(feed.reader.read, [document.id]) : [];
  if (!stored) throw new Fault("NOT_FOUND", leftOut === "" ? `file not found: ${number}` : `${number} is not published on this server: ${leftOut}`);
  return isYaml ? respond(request, "application/yaml", yamlOf(valueOfStored(stored.body))) : respond(request, "application/json", textOfStored(stored.body));
};

/** Required members; package URLs are up to the distribution. */
const head = (distribution: string): string =>
  JSON.stringify({
    apkurl: "{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk",
    archs: [],
    reponame: distribution,
    urlprefix: "",
  }).slice(0, -1);

async function* securityPieces(reader: Reader, distribution: string): AsyncGenerator<string> {
  yield `${head(distribution)},"packages":[`;
  let before = "\n";
  for await (const page of ownPackages(reader)) {
    const entries = page.flatMap((found) => secdbPackage(found, distribution) ?? []);
    if (entries.length === 0) continue;
    yield before + entries.map((entry) => JSON.stringify(entry)).join(",\n");
    before = ",\n";
  }
  yield "\n]}\n";
}

const readSecurity = async (feed: Feed, distribution: string, request: DocumentRequest): Promise<DocumentResponse> => {
  const own = await findOwnArtifacts(feed.reader);
  if (!own.some((each) => secdbDistribution(each) === distribution)) throw new Fault("NOT_FOUND", `no own advisories for ${distribution}`);
  return respondInPieces(feed, request, "application/json", securityPieces(feed.reader, distribution));
};

/** Distributions with another repository name. */
const repositories: ReadonlyMap<string, string> = new Map([["os", "wolfi"]]);

const endpoint = (requests: number, handle: (request: DocumentRequest) => Promise<DocumentResponse>): OsvEndpoint => ({
  GET: handle,
  requests,
  yieldsToToken: true,
});

/** Returns the endpoint for a path; undefined for other paths. */
export const openSecdb =
  (feed: Feed) =>
  (path: string): OsvEndpoint | undefined => {
    const [, root, distribution, file, last, ...more] = path.split("/");
    if (root !== "secdb" || distribution === undefined || more.length > 0) return undefined;
    if (file === "security.json" && last === undefined)
      return endpoint(limits.osvArchiveRequests, (request) => readSecurity(feed, repositories.get(distribution) ?? distribution, request));
    if (distribution !== "alpine") return undefined;
    // With or without the trailing slash.
    if (file === undefined || file === "") return last === undefined ? endpoint(1, (request) => listReleases(feed, request)) : undefined;
    if (last === undefined || last === "") return endpoint(1, (request) => listFiles(feed, file, request));
    const [, repository, form] = /^(.+)\.(json|yaml)$/.exec(last) ?? [];
    const number = `${file}/${repository ?? ""}`;
    if (!releaseForm.test(number)) return undefined;
    return endpoint(1, (request) => readRelease(feed, number, form === "yaml", request));
  };
