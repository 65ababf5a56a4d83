// Images in use, as clients report them. Retention rules keep their tags.

import { invalid, missing, quotaExceeded } from "#base/fault.ts";
import { readImageName } from "#base/image-name.ts";
import { text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { timestamp } from "#base/time.ts";
import { covers, isUid, rootOf } from "#base/uid.ts";
import { answerPage, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { countImagesInUse, findImagesInUse, findRepoByName, type ReportedImage, writeImagesInUse } from "#registry/store";
import { lockRow } from "#db";
import { isGroupOrRepo } from "./rules/group-or-repo.ts";

const expiryOf = ({ request, nowMs }: WriteContext): number => {
  const given = text(request, "expireTime");
  const untilMs = given === "" ? nowMs + limits.inUseDefaultMs : Date.parse(given);
  if (untilMs <= nowMs) throw invalid([{ field: "expire_time", description: "must be in the future" }]);
  if (untilMs > nowMs + limits.inUseMaxMs) throw invalid([{ field: "expire_time", description: "must be within 30 days" }]);
  return untilMs;
};

const reportInUse = async (context: WriteContext): Promise<Outcome> => {
  const { request, rows, services, nowMs } = context;
  const parent = text(request, "parent");
  if (!(await lockRow(rows, { name: "groups", columns: ["uid"] }, parent, "key share"))) throw missing("iam", "Group", parent);
  const untilMs = expiryOf(context);
  const host = new URL(services.publicUrl).host;
  const given = [...new Set(texts(request, "images"))].map((image) => ({ image, name: readImageName(image, host) }));
  const paths = [...new Set(given.flatMap(({ name }) => name?.path ?? []))];
  const findRepo = async (path: string) => (isUid(path) ? path : (await findRepoByName(rows, path))?.uid);
  const repos = new Map((await Promise.all(paths.map(findRepo))).map((repo, index) => [paths[index], repo]));
  const known: ReportedImage[] = [];
  const unknownImages: string[] = [];
  for (const { image, name } of given) {
    const repo = name && repos.get(name.path);
    if (name && repo !== undefined && covers(parent, repo)) known.push({ repo, digest: name.digest, tag: name.tag });
    else unknownImages.push(image);
  }
  // A deleted repo must not get rows.
  const held = new Set<string>();
  for (const repo of [...new Set(known.map((image) => image.repo))].sort())
    if (await lockRow(rows, { name: "repos", columns: ["uid"] }, repo, "key share")) held.add(repo);
  const images = known.filter(({ repo }) => held.has(repo));
  await writeImagesInUse(rows, images, text(request, "source"), nowMs, untilMs);
  const root = rootOf(parent);
  if ((await countImagesInUse(rows, root)) > limits.imagesInUseEach)
    throw quotaExceeded(
      `the organization ${root} has reached its limit of ${limits.imagesInUseEach} images in use: report only images that run, with a shorter expire_time`,
      `organization:${root}`,
      `images in use: at most ${limits.imagesInUseEach} in one organization`,
    );
  return { reply: { imageCount: images.length, expireTime: timestamp(untilMs), unknownImages } };
};

const listInUse = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const uid = text(request, "uid");
  if (!(await isGroupOrRepo(rows, uid))) throw missing("registry", "Repo", uid);
  return answerPage(context, async (page) => {
    const { images, total } = await findImagesInUse(rows, uid, nowMs, page);
    const records = images.map(({ digest, tag, ...image }) => ({
      key: [image.repoUid, digest, tag, image.source],
      record: { ...image, ...(digest === "" ? {} : { digest }), ...(tag === "" ? {} : { tag }) },
    }));
    return pageOf(page, records, total);
  });
};

export const inUse = resource({
  service: "gantry.registry.v1.InUseService",
  message: "gantry.registry.v1.ImageInUse",
  methods: { ReportInUse: { writes: reportInUse }, FindInUse: { reads: listInUse } },
});
