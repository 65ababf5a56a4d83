// Packages of an image, the difference between two images, and SBOMs made of them.

import { createHash } from "node:crypto";
import { blocked, missing } from "#base/fault.ts";
import { type Json, type JsonObject, text, texts } from "#base/json.ts";
import { type SbomWriterName, sbomWriters } from "#advisories/feeds";
import { answerPage, type Outcome, type ReadContext, resource } from "#kernel";
import { findRow } from "#db";
import { comparePackages, type PackageChange } from "./contents/compare.ts";
import { pageOfAll } from "./contents/page-of-all.ts";
import { sbomContentsOf } from "./contents/sbom-contents.ts";
import { isAnythingRead, type ReadPackages, readPackages, type ShownPackage, stateOf } from "./contents/read-packages.ts";

const requireRepo = async ({ rows }: ReadContext, repo: string): Promise<void> => {
  if (!(await findRow(rows, { name: "repos", columns: ["uid"] }, repo))) throw missing("registry", "Repo", repo);
};

/** Throws FAILED_PRECONDITION if nothing of the image was read: it would look like an image without packages. */
const requireRead = (image: ReadPackages): ReadPackages => {
  if (isAnythingRead(image)) return image;
  const state = stateOf(image).replace("IMAGE_CONTENTS_STATE_", "");
  throw blocked("IMAGE_NOT_READ", "", [`nothing of the image ${image.digest} was read: its state is ${state}, see /gantry/v1/imageContents`]);
};

/** Returns a filter that passes everything if the request names nothing. */
const filterOf = (request: JsonObject, field: string, prefix = ""): ((values: readonly string[]) => boolean) => {
  const wanted = new Set(texts(request, field).map((each) => (each.startsWith(prefix) ? each.slice(prefix.length) : each)));
  return (values) => wanted.size === 0 || values.some((value) => wanted.has(value));
};

const omitEmpty = (fields: Readonly<Record<string, string | number | readonly string[]>>): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): [string, Json][] => {
      if (typeof value === "object") return value.length === 0 ? [] : [[name, [...value]]];
      return value === "" || value === 0 ? [] : [[name, value]];
    }),
  );

/** Tells entries with the same beginning of the path apart: page tokens have no room for whole ones. */
const tieOf = ({ path, purl }: ShownPackage): string => createHash("sha256").update(`${path}\n${purl}`).digest("hex").slice(0, 16);

/** Characters of a path that packages of the same name and version are ordered by. */
const pathInKey = 256;

const originPrefix = "IMAGE_PACKAGE_ORIGIN_";

const packageRecord = ({ origins, ...fields }: ShownPackage): JsonObject =>
  omitEmpty({ ...fields, origins: origins.map((origin) => `${originPrefix}${origin}`) });

const findPackages = async (context: ReadContext): Promise<Outcome> => {
  const { request, order } = context;
  const repo = text(request, "repoUid");
  await requireRepo(context, repo);
  const image = await readPackages(context, { repo, reference: text(request, "reference"), architecture: text(request, "architecture") });
  const [byName, byType, byLayer] = [filterOf(request, "names"), filterOf(request, "types"), filterOf(request, "layers")];
  const byOrigin = filterOf(request, "origins", originPrefix);
  const shown = image.packages
    .filter(({ name, type, layer, origins }) => byName([name]) && byType([type]) && byLayer([layer]) && byOrigin(origins))
    .map((each) => {
      const [name, type] = order?.column === "type" ? [each.type, each.name] : [each.name, each.type];
      return { package: each, key: [name, type, each.version, each.path.slice(0, pathInKey), tieOf(each)] };
    });
  const { reply, ...rest } = await answerPage(context, async (page) => pageOfAll(page, shown, (entry) => packageRecord(entry.package)));
  const problemCount = image.contents?.problemCount ?? 0;
  return { ...rest, reply: { ...reply, digest: image.digest, state: stateOf(image), ...(problemCount === 0 ? {} : { problemCount }) } };
};

const kindPrefix = "IMAGE_PACKAGE_CHANGE_KIND_";

const changeRecord = ({ kind, ...fields }: PackageChange): JsonObject => omitEmpty({ ...fields, kind: `${kindPrefix}${kind}` });

const compareImages = async (context: ReadContext): Promise<Outcome> => {
  const { request, order, method } = context;
  const repo = text(request, "repoUid");
  const toRepo = text(request, "toRepoUid") || repo;
  context.require(method.capabilities, toRepo);
  for (const each of new Set([repo, toRepo])) await requireRepo(context, each);
  const architecture = text(request, "architecture");
  const from = requireRead(await readPackages(context, { repo, reference: text(request, "reference"), architecture }));
  const to = requireRead(await readPackages(context, { repo: toRepo, reference: text(request, "toReference"), architecture }));
  const [byType, byKind] = [filterOf(request, "types"), filterOf(request, "kinds", kindPrefix)];
  const shown = comparePackages(from.packages, to.packages)
    .filter(({ type, kind }) => byType([type]) && byKind([kind]))
    .map((each) => ({ change: each, key: order?.column === "type" ? [each.type, each.name] : [each.name, each.type] }));
  const { reply, ...rest } = await answerPage(context, async (page) => pageOfAll(page, shown, (entry) => changeRecord(entry.change)));
  return { ...rest, reply: { ...reply, digest: from.digest, state: stateOf(from), toDigest: to.digest, toState: stateOf(to) } };
};

const formatPrefix = "IMAGE_SBOM_FORMAT_";

const isWriterName = (name: string): name is SbomWriterName => Object.hasOwn(sbomWriters, name);

const exportSbom = async (context: ReadContext): Promise<Outcome> => {
  const { request } = context;
  const repo = text(request, "repoUid");
  await requireRepo(context, repo);
  const image = requireRead(await readPackages(context, { repo, reference: text(request, "reference"), architecture: text(request, "architecture") }));
  const named = text(request, "format").replace(formatPrefix, "");
  const format = isWriterName(named) ? named : "SPDX_2_3";
  const document = sbomWriters[format](await sbomContentsOf(context, image));
  const packageCount = image.packages.length;
  return {
    reply: {
      digest: image.digest,
      format: `${formatPrefix}${format}`,
      state: stateOf(image),
      ...(packageCount === 0 ? {} : { packageCount }),
      document: JSON.stringify(document),
    },
  };
};

export const imagePackages = resource({
  service: "gantry.images.v1.ImagePackagesService",
  message: "gantry.images.v1.ImagePackage",
  methods: { FindImagePackages: { reads: findPackages }, CompareImages: { reads: compareImages }, ExportImageSbom: { reads: exportSbom } },
});
